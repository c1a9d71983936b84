// Trivial baselines: rows that need no trained network and that every table of results should be
// read against.
#ifndef LRA_TASKS_BASELINE_H_
#define LRA_TASKS_BASELINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"
#include "datasets/split_view.h"
#include "lra/config.pb.h"
#include "lra/experiment.h"
#include "tasks/task.h"

namespace lra {

struct BaselinePrediction {
  std::string name;         // "majority", "root_operator", "ngram_linear"
  std::string description;  // a sentence for the table
  // For each split, [examples, C] log-probabilities in the order of the split.
  std::vector<std::vector<float>> logits;
};

struct BaselineOptions {
  int threads = 0;
  bool quiet = false;
};

// Computes these baselines for every split in `scored`; they learn from `train`. * "majority": the
// class frequencies of the training split. * The task's shortcut, if it has one: the class
// frequencies of the training examples with the
//   same value. Both count with add-one smoothing, so no log-probability is infinite.
// * "ngram_linear" for texts, "pixel_linear" for images: multinomial logistic regression on the
//   features of tasks/features.h. Of kLinearPasses passes over the training split, the model after
//   the one with the best accuracy on `validation` is kept.
inline constexpr int kLinearPasses = 8;
absl::StatusOr<std::vector<BaselinePrediction>> RunBaselines(
    const Task& task, const SplitView& train, const SplitView& validation,
    const std::vector<const SplitView*>& scored, const BaselineOptions& options);

// Names of the rows that RunBaselines returns for data of this task.
std::vector<std::string> BaselineNames(const Task& task, const TaskSpec& spec);
// The same of the task that a data set is of; none where this program lacks the task.
absl::StatusOr<std::vector<std::string>> BaselineNamesOf(const Manifest& manifest);

struct BaselineRequest {
  std::string task;
  std::string data_dir;  // empty = DefaultDataDirectory(task)
  ViewChoice view;
  std::string split = "test";  // scored beside validation and test
  BaselineOptions options;
};

// Every baseline of a task on prepared data.
struct BaselineResults {
  Manifest manifest;
  DataView view;
  TaskSpec spec;                             // under the view
  std::vector<std::string> splits;           // "validation", "test" and the one that was asked for
  std::vector<std::vector<int32_t>> labels;  // by split
  std::vector<BaselinePrediction> predictions;  // logits by split
};
// InvalidArgument for data of another task; the errors of MakeTask, LoadView, Dataset::Open and
// SplitView::Create.
absl::StatusOr<BaselineResults> PredictBaselines(const BaselineRequest& request);

}  // namespace lra

#endif  // LRA_TASKS_BASELINE_H_
