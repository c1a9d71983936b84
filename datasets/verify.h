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

// Computes the label of an example independently of how the data was made; nullopt if the example
// is ambiguous. Safe for concurrent use.
using LabelOracle = std::function<absl::StatusOr<std::optional<int32_t>>(const StoredExample&)>;

struct ContentReport {
  // The number of examples whose label was evaluated; 0 without an oracle.
  int64_t labels_checked = 0;
  // Duplicates as recomputed.
  std::vector<DuplicateExamples> duplicates;
  std::vector<SharedDocuments> shared_documents;
  // What is wrong, one sentence each, naming split and example; empty if everything is as the
  // manifest says. At most 20 wrong labels are named one by one.
  std::vector<std::string> problems;
};

// Compares fingerprints, token and label counts, duplicates (if the manifest lists any) and, given
// an oracle (may be null), every label and the number of ambiguous examples. `data` was opened with
// every split. `progress` (may be null) is called with the number of examples done, from one thread
// at a time.
ContentReport VerifyContent(const Dataset& data, const LabelOracle& oracle, int threads,
                            const std::function<void(int64_t)>& progress);

}  // namespace lra

#endif  // LRA_DATASETS_VERIFY_H_
