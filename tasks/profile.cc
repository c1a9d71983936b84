#include "tasks/profile.h"

#include <algorithm>
#include <memory>

#include "lra/status_macros.h"

namespace lra {

absl::StatusOr<TaskProfile> ProfileTask(const TaskProfileRequest& request) {
  LRA_ASSIGN_OR_RETURN(const OpenedTaskData opened,
                       OpenTaskData(request, {request.split}, request.options.threads));
  const SplitView& split = opened.splits.front();
  TaskProfile profile;
  profile.spec = split.spec();
  profile.labels = Labels(split);
  LRA_ASSIGN_OR_RETURN(profile.strata, opened.task->StrataOf(opened.train, split, opened.view,
                                                             request.options.threads));
  std::vector<std::unique_ptr<BaselineMethod>> ladder = AllBaselines(*opened.task, opened.view);
  ladder.erase(std::remove_if(ladder.begin(), ladder.end(),
                              [](const auto& method) { return method->facts().ladder.empty(); }),
               ladder.end());
  // Baselines of a ladder make no choices, so that the split stands in for validation.
  LRA_ASSIGN_OR_RETURN(profile.ladder,
                       RunBaselines(ladder, opened.train, split, {&split}, request.options));
  return profile;
}

}  // namespace lra
