// What needs no model: rows that every table of results should be read against.
#ifndef LRA_TASKS_BASELINE_H_
#define LRA_TASKS_BASELINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/split_view.h"
#include "tasks/task.h"

namespace lra {

struct BaselinePrediction {
  std::string name;         // "majority", "root_operator", "ngram_linear"
  std::string description;  // a sentence for the table
  // By split, [examples, C]: log-probabilities, in the split's order.
  std::vector<std::vector<float>> logits;
};

struct BaselineOptions {
  int threads = 0;
  bool quiet = false;
};

// Of every split in `scored`, learnt from `train`:
//  * "majority": the class frequencies of the training split;
//  * the task's shortcut, where it has one: the class frequencies of the training examples with the
//    same value. Both count with add-one smoothing, so that no log-probability is infinite.
//  * of texts "ngram_linear", of images "pixel_linear": multinomial logistic regression on what
//    features.h says, kept as it is after the pass over the training split (of kLinearPasses) that
//    `validation` likes best.
inline constexpr int kLinearPasses = 8;
absl::StatusOr<std::vector<BaselinePrediction>> RunBaselines(
    const Task& task, const SplitView& train, const SplitView& validation,
    const std::vector<const SplitView*>& scored, const BaselineOptions& options);

// Names of the rows that RunBaselines gives data of this task.
std::vector<std::string> BaselineNames(const Task& task, const TaskSpec& spec);

}  // namespace lra

#endif  // LRA_TASKS_BASELINE_H_
