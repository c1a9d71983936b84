#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/files.h"

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

}  // namespace

absl::StatusOr<FileLock> FileLock::Acquire(absl::string_view path) {
  const std::string name(path);
  while (true) {
    const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) {
      return absl::InternalError(
          absl::StrCat("cannot open lock \"", name, "\": ", std::strerror(errno)));
    }
    const bool is_locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (is_locked && IsFileOf(descriptor, name)) return FileLock(name, descriptor);
    ::close(descriptor);
    if (is_locked) continue;
    if (error == EWOULDBLOCK) {
      return absl::FailedPreconditionError(
          absl::StrCat("\"", name, "\" is held by another process"));
    }
    if (error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK) {
      return absl::UnimplementedError(
          absl::StrCat("the file system of \"", name, "\" has no locks"));
    }
    return absl::InternalError(absl::StrCat("cannot lock \"", name, "\": ", std::strerror(error)));
  }
}

void FileLock::RemoveFile() const { ::unlink(path_.c_str()); }

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace lra
