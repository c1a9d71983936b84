// `lra check TASK`: the promises that every task keeps, tried on a little of its own data.
#ifndef LRA_TASKS_CHECK_H_
#define LRA_TASKS_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/dataset.h"
#include "tasks/task.h"

namespace lra {

struct TaskCheckOptions {
  std::string task;
  // Where the data is made; removed at the end.
  std::string scratch;
  // Options over those of configs/tasks/ and its check_option.
  std::vector<std::string> set;
};

// One promise. A failure says what was seen, in `detail`.
struct TaskCheckLine {
  std::string name;
  bool passed = false;
  std::string detail;
};

// Generates (with 1, 2 and 8 threads, and in parts) and imports (the task's own sample, with 1, 2
// and 8 threads) what the task can, and checks each data set: verification, ids, labels, round
// trips, splits, views. An error when nothing could be tried at all.
absl::StatusOr<std::vector<TaskCheckLine>> CheckTask(const TaskCheckOptions& options);

namespace internal {

// OK, or what is wrong; of data that is open whole.
absl::Status CheckRoundTrips(const Task& task, const Dataset& data);
// Every split rule that the data can serve: no example in two splits, none in no split.
absl::Status CheckSplits(const Dataset& data);
// Every field of the view: what it changes, and that it changes nothing else.
absl::Status CheckViews(const Dataset& data);

}  // namespace internal
}  // namespace lra

#endif  // LRA_TASKS_CHECK_H_
