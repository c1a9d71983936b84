// What the files of configs/tasks/ say about lists, about statistics and about protocols and
// presets, so that a new task is named in no other file.
#ifndef LRA_TASK_FILES_H_
#define LRA_TASK_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"

namespace lra {

// Every task in the order of lists and tables: by TaskFile.order, then those without one by name.
std::vector<std::string> TasksInOrder();

// TaskFile.block_examples; 1 where the file does not say, and of a task without a file here.
int64_t BlockExamplesOf(absl::string_view task);

// LoadFragment, with what the task's own file says under the fragment's name and under the names of
// those that it extends. kind: "protocols" or "presets". InvalidArgument if the fragment names the
// task too: one of the two would be overlooked.
absl::StatusOr<ConfigFragment> LoadFragmentForTask(absl::string_view kind, absl::string_view name,
                                                   absl::string_view task);
// The same for every task.
absl::StatusOr<ConfigFragment> LoadFragmentForAllTasks(absl::string_view kind,
                                                       absl::string_view name);

// Ok if a fragment that was loaded so can be used for the task: a protocol must have rules for it;
// a preset must have sizes, for it or for every task. InvalidArgument names the tasks that it has.
absl::Status CheckCoversTask(absl::string_view kind, const ConfigFragment& fragment,
                             absl::string_view task);

// Names of the protocols, or of the presets, that can be used for the task.
absl::StatusOr<std::vector<std::string>> NamesForTask(absl::string_view kind,
                                                      absl::string_view task);

}  // namespace lra

#endif  // LRA_TASK_FILES_H_
