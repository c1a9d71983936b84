// `lra check TASK`: the promises that every task keeps, tried on a little of its own data.
#ifndef LRA_TASKS_TASK_CHECK_H_
#define LRA_TASKS_TASK_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/dataset.h"
#include "tasks/task.h"

namespace lra {

struct HostBatch;

struct TaskCheckOptions {
  std::string task;
  // A folder for the data, which is removed at the end.
  std::string scratch;
  // Options that override those of configs/tasks/ and its check_option.
  std::vector<std::string> set;
};

// The result of one promise; if it failed, `detail` says what was seen.
struct TaskCheckLine {
  std::string name;
  bool passed = false;
  std::string detail;
};

// Generates the task's data (with 1, 2 and 8 threads, and in parts) and imports its own sample
// (with 1, 2 and 8 threads), as far as the task can do either. Checks each data set: verification,
// ids, labels, round trips, splits, views. An error if nothing could be tried at all.
absl::StatusOr<std::vector<TaskCheckLine>> CheckTask(const TaskCheckOptions& options);

namespace internal {

// An example as it is to be guessed: its tokens under the view, and how many of them are given.
struct Guessable {
  std::vector<int32_t> ids;
  size_t given = 0;
};
// Whether the batch of this example alone shows it and asks for what is not given.
bool AsksForTheNext(const HostBatch& batch, const Guessable& example);
// Whether the mask stands for some tokens that are not given, which are asked for.
bool AsksForTheHidden(const HostBatch& batch, const Guessable& example, int32_t mask);

// OK, or what is wrong. What a task says of itself is what its file says: the name, which is the
// registered one, the version, and whether it is imported. A source that began as a copy of another
// may have kept the other's.
absl::Status CheckSpec(const Task& task, const TaskFile& file);
// `data` is open with every split.
absl::Status CheckRoundTrips(const Task& task, const Dataset& data);
// Checks every split rule that the data allows: no example is in two splits, and none is in no
// split.
absl::Status CheckSplits(const Dataset& data);
// Checks every field of the view: it changes what it says and nothing else. Under view.target, what
// is asked for are tokens that are not given.
absl::Status CheckViews(const Dataset& data);

}  // namespace internal
}  // namespace lra

#endif  // LRA_TASKS_TASK_CHECK_H_
