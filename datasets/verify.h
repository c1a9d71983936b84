// Recomputes what a manifest claims about the contents of a data set.
#ifndef LRA_DATASETS_VERIFY_H_
#define LRA_DATASETS_VERIFY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "datasets/dataset.h"
#include "datasets/manifest.pb.h"

namespace lra {

// An example's label from its tokens, by an algorithm of its own. Safe for concurrent use.
using LabelOracle = std::function<absl::StatusOr<int32_t>(absl::Span<const uint16_t>)>;

struct ContentReport {
  // Examples whose label was evaluated anew; 0 without an oracle.
  int64_t labels_checked = 0;
  // Recomputed.
  std::vector<DuplicateExamples> duplicates;
  // What is wrong, a sentence each, naming split and example; empty = as the manifest says. At most
  // 20 wrong labels are named one by one.
  std::vector<std::string> problems;
};

// `data` was opened with every split. Compares fingerprints, token and label counts, duplicates
// (where the manifest lists any) and, given an oracle (may be null; single texts only), every
// label. `progress` (may be null) is called with the number of examples done, from one thread at a
// time.
ContentReport VerifyContent(const Dataset& data, const LabelOracle& oracle, int threads,
                            const std::function<void(int64_t)>& progress);

}  // namespace lra

#endif  // LRA_DATASETS_VERIFY_H_
