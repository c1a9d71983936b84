// Recomputes what a manifest claims about the contents of a data set.
#ifndef LRA_DATASETS_VERIFY_H_
#define LRA_DATASETS_VERIFY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "datasets/dataset.h"
#include "datasets/example.h"
#include "datasets/manifest.pb.h"

namespace lra {

// An example's label by an algorithm of its own; nullopt when it is ambiguous. Safe for concurrent
// use.
using LabelOracle = std::function<absl::StatusOr<std::optional<int32_t>>(const StoredExample&)>;

struct ContentReport {
  // Examples whose label was evaluated anew; 0 without an oracle.
  int64_t labels_checked = 0;
  // Recomputed.
  std::vector<DuplicateExamples> duplicates;
  std::vector<SharedDocuments> shared_documents;
  // What is wrong, a sentence each, naming split and example; empty = as the manifest says. At most
  // 20 wrong labels are named one by one.
  std::vector<std::string> problems;
};

// `data` was opened with every split. Compares fingerprints, token and label counts, duplicates
// (where the manifest lists any) and, given an oracle (may be null), every label and the count of
// ambiguous examples. `progress` (may be null) is called with the number of examples done, from one
// thread at a time.
ContentReport VerifyContent(const Dataset& data, const LabelOracle& oracle, int threads,
                            const std::function<void(int64_t)>& progress);

}  // namespace lra

#endif  // LRA_DATASETS_VERIFY_H_
