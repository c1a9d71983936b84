// What a task knows of the examples of a split, beside which stored predictions can be laid: ways
// to sort them, and what the baselines of a ladder answer. `lra profile`.
#ifndef LRA_TASKS_PROFILE_H_
#define LRA_TASKS_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/strata.h"
#include "lra/task_spec.pb.h"
#include "tasks/baseline.h"

namespace lra {

struct TaskProfileRequest : TaskDataRequest {
  std::string split = "test";
  BaselineOptions options;
};

struct TaskProfile {
  TaskSpec spec;                // under the view
  std::vector<int32_t> labels;  // [examples] of the split
  std::vector<Strata> strata;
  // The baselines that have a ladder, in its order, with their answers to the split.
  std::vector<BaselinePrediction> ladder;
};

// The errors of OpenTaskData, Task::StrataOf and of the baselines.
absl::StatusOr<TaskProfile> ProfileTask(const TaskProfileRequest& request);

}  // namespace lra

#endif  // LRA_TASKS_PROFILE_H_
