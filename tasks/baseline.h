// What needs no model: rows that every table of results should be read against.
#ifndef LRA_TASKS_BASELINE_H_
#define LRA_TASKS_BASELINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/dataset.h"
#include "tasks/task.h"

namespace lra {

struct BaselinePrediction {
  std::string name;           // "majority", "root_operator"
  std::string description;    // a sentence for the table
  std::vector<float> logits;  // [examples, C]: log-probabilities, in the split's order
};

// "majority" (the class frequencies of the training split) and, where the task has one, its
// shortcut (the class frequencies of the training examples with the same value). Both count with
// add-one smoothing, so that no log-probability is infinite. `data` was opened with "train" and
// `split`, otherwise FailedPrecondition.
absl::StatusOr<std::vector<BaselinePrediction>> RunBaselines(const Task& task, const Dataset& data,
                                                             absl::string_view split);

}  // namespace lra

#endif  // LRA_TASKS_BASELINE_H_
