// Whether somebody holds a lock (FileLock of lra/files.h), for those who only look.
#ifndef LRA_HELD_LOCK_H_
#define LRA_HELD_LOCK_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

// Whether a process, be it this one, holds the FileLock of that path. Those who look at once are
// not taken for its holder; who tries to take it at that moment may be refused. False where there
// is no such file, which is not made. Unimplemented where the file system has no locks; Internal
// where the file cannot be opened.
absl::StatusOr<bool> IsLockHeld(absl::string_view path);

}  // namespace lra

#endif  // LRA_HELD_LOCK_H_
