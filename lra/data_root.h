// The folder of the data sets, and the rules that lie in it beside data without a task's code.
#ifndef LRA_DATA_ROOT_H_
#define LRA_DATA_ROOT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra {

// $LRA_DATA, "data" where that is unset or empty.
std::string DataRoot();

// What is in a data set, a file in its folder (datasets/manifest.h).
inline constexpr absl::string_view kManifestFile = "manifest.textproto";

// A TaskFile beside the data of a data-only task: one that any program wrote (docs/format.md) and
// that `lra data adopt` gave rules to.
inline constexpr char kDataOnlyTaskFile[] = "task.textproto";
// DataRoot()/TASK/task.textproto.
std::string DataOnlyTaskPath(absl::string_view task);
// Names of the folders of DataRoot() that hold such a file, sorted.
std::vector<std::string> DataOnlyTasks();

// Looks what a name that is no task may stand for: InvalidArgument, saying what to do, where
// DataRoot()/NAME is there, whose data has no rules yet.
absl::Status CheckAdopted(absl::string_view name);

}  // namespace lra

#endif  // LRA_DATA_ROOT_H_
