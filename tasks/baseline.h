// Runs trivial baselines: rows that need no trained network and that every table of results should
// be read against. Which baselines there are is said by the task (Task::Baselines).
#ifndef LRA_TASKS_BASELINE_H_
#define LRA_TASKS_BASELINE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"
#include "datasets/split_view.h"
#include "lra/config.pb.h"
#include "lra/experiment.h"
#include "tasks/baseline_method.h"
#include "tasks/task.h"

namespace lra {

struct BaselinePrediction {
  BaselineFacts facts;
  BaselineLogits logits;                    // of each scored split
  std::vector<TokenScores> token_scores{};  // instead of logits where tokens are guessed
};

// The majority class and the task's own, weakest first, for data seen through `view`; where tokens
// are guessed, tasks/token_baseline.h's and the task's own for that.
std::vector<std::unique_ptr<BaselineMethod>> AllBaselines(const Task& task, const DataView& view);

// Computes these for every split in `scored`: the quick ones, or all if the options say so, but
// for those that cannot be had of this data (BaselineMethod::WhyNot). They learn from `train` and
// choose on `validation`.
absl::StatusOr<std::vector<BaselinePrediction>> RunBaselines(
    const std::vector<std::unique_ptr<BaselineMethod>>& methods, const SplitView& train,
    const SplitView& validation, const std::vector<const SplitView*>& scored,
    const BaselineOptions& options);

// Names of all baselines of the task that a data set is of; none where this program lacks the task.
absl::StatusOr<std::vector<std::string>> BaselineNamesOf(const Manifest& manifest);
// Names that stand for something else beside predictions of other code on this data: those of its
// baselines, and of all attentions.
absl::StatusOr<std::vector<std::string>> TakenNames(const std::string& data_dir);

// How a task's prepared data is opened and seen.
struct TaskDataRequest {
  std::string task;
  std::string data_dir;  // empty = DefaultDataDirectory(task)
  ViewChoice view;
  // Instead of `view`, for instance that of a run.
  std::optional<DataView> exact_view;
  // Asked before anything is read, for instance whether this is the data of a run; unset =
  // anything.
  std::function<absl::Status(const Manifest& manifest, const DataView& view)> check_data;
};

struct BaselineRequest : TaskDataRequest {
  std::string split = "test";  // scored beside validation and test
  BaselineOptions options;
};

// The baselines of a task on prepared data.
struct BaselineResults {
  Manifest manifest;
  DataView view;
  TaskSpec spec;                             // under the view
  std::vector<std::string> splits;           // "validation", "test" and the one that was asked for
  std::vector<std::vector<int32_t>> labels;  // by split
  std::vector<BaselinePrediction> predictions;  // logits by split
  std::vector<std::string> left_out;            // names of those that are not quick
  // Which of them cannot be had of this data, and why: "baseline bigram is left out: ...".
  std::vector<std::string> notes;
};
// InvalidArgument for data of another task; the errors of MakeTask, LoadView, check_data,
// Dataset::Open, SplitView::Create and the baselines. Unless the options say quiet, the notes are
// written to standard error.
absl::StatusOr<BaselineResults> PredictBaselines(const BaselineRequest& request);

// Prepared data with the training split and others, as they are seen.
struct OpenedTaskData {
  std::shared_ptr<const Task> task;
  Manifest manifest;
  DataView view;
  SplitView train;
  std::vector<SplitView> splits;  // as asked for
};
// The errors of PredictBaselines.
absl::StatusOr<OpenedTaskData> OpenTaskData(const TaskDataRequest& request,
                                            const std::vector<std::string>& splits, int threads);

}  // namespace lra

#endif  // LRA_TASKS_BASELINE_H_
