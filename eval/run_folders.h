// Which folders hold runs.
#ifndef LRA_EVAL_RUN_FOLDERS_H_
#define LRA_EVAL_RUN_FOLDERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lra {

// The JSON twin of a record (eval/run_record.h).
inline constexpr char kRecordJsonFile[] = "record.json";

// Whether a run left a checkpoint or a curve there, but no record.
bool IsUnfinishedRun(const std::string& directory);

// What is said of such a folder, behind its name or "it".
inline constexpr char kNoRecord[] = "has no record; it failed, was stopped or is still going";

// Every folder at or below the given ones that holds a run, finished or not, each once: in the
// order of the arguments, and by path below each. What lies inside a run is its own. NotFound for a
// path that does not exist, InvalidArgument for one that is no folder.
absl::StatusOr<std::vector<std::string>> FindRunFolders(absl::Span<const std::string> paths);

// The first run found at or below the folder, which stands for all; empty where there is none, and
// where the folder cannot be listed or is not there.
std::string AnyRunBelow(const std::string& path);

// Whether the folder itself is a run, finished or not.
bool IsRunFolder(const std::string& directory);
// The run inside which the folder lies, or would lie, and where listings do not look; empty where
// there is none.
std::string RunAround(const std::string& path);

// The folder's own name, also of "." and "runs/x/": what a suite in it is called.
std::string FolderName(const std::string& folder);

}  // namespace lra

#endif  // LRA_EVAL_RUN_FOLDERS_H_
