// The trivial baselines of ListOps, which say what they can of a tree without evaluating all of it,
// and the depth at which this is enough.
#ifndef LRA_TASKS_LISTOPS_BASELINES_H_
#define LRA_TASKS_LISTOPS_BASELINES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/strata.h"
#include "lra/config.pb.h"
#include "tasks/baseline_method.h"
#include "tasks/listops/depth.h"

namespace lra::listops {

// "depth_1" to "depth_5"; the trees of the task have up to ten levels.
inline constexpr int kMaxBaselineDepth = 5;

// What is learned needs few examples: the first of the training split, at most so many. (An example
// of the task has about a hundred operators.)
inline constexpr int64_t kMaxLearntExamples = 10000;

// "root_operator", the table of class frequencies by root operator; then "depth_k" for k = 1 .. 5:
// exact evaluation down to depth k (tasks/listops/depth.h), with the commonest values of the
// training split as guesses. Views without closing brackets leave out the latter: nobody can tell
// where an operator ends.
std::vector<std::unique_ptr<BaselineMethod>> ListOpsBaselines(const DataView& view);

// Two ways to sort the examples. By evidence depth, 0 .. max_depth, and a last stratum for examples
// that no such depth gets right (of deeper trees, say). The depth is the stored tree's, whatever
// the view shows of it, so that runs under all views are sorted alike. And by length.
absl::StatusOr<std::vector<Strata>> ListOpsStrata(const SplitView& train, const SplitView& split,
                                                  int max_depth, int threads);

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_BASELINES_H_
