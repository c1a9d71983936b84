#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/files.h"

namespace lra {

absl::StatusOr<FileLock> FileLock::Acquire(absl::string_view path) {
  const std::string name(path);
  const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return absl::InternalError(
        absl::StrCat("cannot open lock \"", name, "\": ", std::strerror(errno)));
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return FileLock(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (error == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat("\"", name, "\" is held by another process"));
  }
  return absl::InternalError(absl::StrCat("cannot lock \"", name, "\": ", std::strerror(error)));
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace lra
