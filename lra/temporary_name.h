// Names of files and folders that are not complete yet: "NAME.tmp-PID-N".
#ifndef LRA_LRA_TEMPORARY_NAME_H_
#define LRA_LRA_TEMPORARY_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lra {

// One for `path` that this process has not given before.
std::string TemporaryName(absl::string_view path);

// Whether a file or folder has such a name: one that is being written, or that a killed process
// left. A user's own "run.tmp-backup" has not.
bool IsTemporaryName(absl::string_view path);
// The same, and it is one for `path`.
bool IsTemporaryNameOf(absl::string_view path, absl::string_view name);

}  // namespace lra

#endif  // LRA_LRA_TEMPORARY_NAME_H_
