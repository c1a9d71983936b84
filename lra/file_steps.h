// Steps that files.cc and staging_directory.cc share.
#ifndef LRA_FILE_STEPS_H_
#define LRA_FILE_STEPS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra::internal {

// `cannot VERB "PATH": REASON`; InvalidArgument for a folder in the place of a file, or the
// reverse, which is a wrong path and no failure.
absl::Status FileError(int error, absl::string_view verb, absl::string_view path);
// "." for a name without a folder.
std::string ParentOf(absl::string_view path);
// A new or changed name is safe on the disk only after its folder was synced.
absl::Status SyncFolder(const std::string& path);
absl::Status RenameAndSync(const std::string& from, const std::string& to);

}  // namespace lra::internal

#endif  // LRA_FILE_STEPS_H_
