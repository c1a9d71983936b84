#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/held_lock.h"

namespace lra {

namespace {

// Whether the open file is still the one with that name; its holder may have removed it and another
// file may be there.
bool IsFileOf(int descriptor, const std::string& name) {
  struct stat open_file {
  }, named_file{};
  return ::fstat(descriptor, &open_file) == 0 && ::stat(name.c_str(), &named_file) == 0 &&
         open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

absl::Status CannotOpenLock(const std::string& name, int error) {
  return absl::InternalError(
      absl::StrCat("cannot open lock \"", name, "\": ", std::strerror(error)));
}

// For errors other than that somebody holds it.
absl::Status CannotLock(const std::string& name, int error) {
  if (error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK) {
    return absl::UnimplementedError(absl::StrCat("the file system of \"", name, "\" has no locks"));
  }
  return absl::InternalError(absl::StrCat("cannot lock \"", name, "\": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<FileLock> FileLock::Acquire(absl::string_view path) {
  const std::string name(path);
  while (true) {
    const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return CannotOpenLock(name, errno);
    const bool is_locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (is_locked && IsFileOf(descriptor, name)) return FileLock(name, descriptor);
    ::close(descriptor);
    if (is_locked) continue;
    if (error == EWOULDBLOCK) {
      return absl::FailedPreconditionError(
          absl::StrCat("\"", name, "\" is held by another process"));
    }
    return CannotLock(name, error);
  }
}

absl::StatusOr<bool> IsLockHeld(absl::string_view path) {
  const std::string name(path);
  while (true) {
    // Nothing in a pipe's place is waited for.
    const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT) return false;
    if (descriptor < 0) return CannotOpenLock(name, errno);
    const bool is_free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
    const int error = errno;
    const bool is_newest = IsFileOf(descriptor, name);
    ::close(descriptor);
    if (is_free && is_newest) return false;
    if (is_free) continue;  // its holder has removed it
    if (error == EWOULDBLOCK) return true;
    return CannotLock(name, error);
  }
}

void FileLock::RemoveFile() const { ::unlink(path_.c_str()); }

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace lra
