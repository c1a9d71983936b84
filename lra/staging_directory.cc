#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/file_steps.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"

namespace lra {

using internal::FileError;
using internal::ParentOf;
using internal::RenameAndSync;
using internal::SyncFolder;

namespace {

namespace fs = std::filesystem;

// The target of a folder's rename must be absent or an empty folder.
absl::Status CheckFreeFolder(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return absl::OkStatus();
  if (!fs::is_directory(path, error))
    return absl::AlreadyExistsError(absl::StrCat("\"", path, "\" exists and is not a folder"));
  if (!fs::is_empty(path, error) || error)
    return absl::AlreadyExistsError(absl::StrCat("folder \"", path, "\" exists and is not empty"));
  return absl::OkStatus();
}

// If nobody holds a lock on a folder this old, its process is dead; a younger one may be about to
// be locked.
constexpr time_t kStaleSeconds = 60;
// The lock is a file's: a folder's is known to one machine alone where the file system is a
// network's.
constexpr char kStagingLock[] = ".staging";

// Whether nobody holds the lock of the folder. Where there is no such file, its process died before
// it could make one.
bool IsUnlocked(int folder) {
  const int lock = ::openat(folder, kStagingLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (lock < 0) return errno == ENOENT;
  const bool is_free = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return is_free;
}

bool IsStale(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat about {};
  const bool stale = ::fstat(descriptor, &about) == 0 &&
                     time(nullptr) - about.st_mtime >= kStaleSeconds && IsUnlocked(descriptor);
  ::close(descriptor);
  return stale;
}

// Removes folders "TARGET.tmp-PID-N" that killed processes left behind.
void RemoveStaleStaging(const std::string& target) {
  const std::string name_of = target.substr(target.rfind('/') + 1);
  std::error_code error;
  std::vector<std::string> stale;
  for (fs::directory_iterator it(ParentOf(target), error), end; !error && it != end;
       it.increment(error)) {
    if (IsTemporaryNameOf(name_of, it->path().filename().string()) && IsStale(it->path().string()))
      stale.push_back(it->path().string());
  }
  for (const std::string& path : stale) RemoveAll(path).IgnoreError();
}

}  // namespace

absl::StatusOr<StagingDirectory> StagingDirectory::Create(absl::string_view final_path,
                                                          bool replace) {
  LRA_ASSIGN_OR_RETURN(std::string target, FollowLinks(final_path));
  if (!replace) LRA_RETURN_IF_ERROR(CheckFreeFolder(target));
  LRA_RETURN_IF_ERROR(MakeDirectories(ParentOf(target)));
  RemoveStaleStaging(target);
  while (true) {
    std::string path = TemporaryName(target);
    if (mkdir(path.c_str(), 0777) == 0) {
      // The lock is held while this process lives, so a folder without a holder was left by a
      // killed process.
      const int lock =
          ::open(JoinPath(path, kStagingLock).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (lock >= 0) ::flock(lock, LOCK_EX | LOCK_NB);
      return StagingDirectory(std::move(path), std::move(target), lock, replace);
    }
    if (errno != EEXIST) return FileError(errno, "make folder", path);
  }
}

StagingDirectory::StagingDirectory(std::string path, std::string final_path, int lock, bool replace)
    : path_(std::move(path)), final_path_(std::move(final_path)), lock_(lock), replace_(replace) {}

StagingDirectory::StagingDirectory(StagingDirectory&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      final_path_(std::move(other.final_path_)),
      lock_(std::exchange(other.lock_, -1)),
      replace_(other.replace_) {}

StagingDirectory::~StagingDirectory() {
  if (path_.empty()) return;
  Unlock();
  RemoveAll(path_).IgnoreError();
}

// In this order: a network's file system keeps what is removed while it is open.
void StagingDirectory::Unlock() {
  if (lock_ < 0) return;
  ::close(std::exchange(lock_, -1));
  ::unlink(JoinPath(path_, kStagingLock).c_str());
}

absl::Status StagingDirectory::Commit() {
  LRA_CHECK(!path_.empty()) << "committed twice: " << final_path_;
  Unlock();
  LRA_RETURN_IF_ERROR(SyncFolder(path_));
  if (replace_) {
    const std::string fresh = std::exchange(path_, "");
    return ReplaceDirectory(fresh, final_path_);
  }
  if (rename(path_.c_str(), final_path_.c_str()) != 0) {
    const int error = errno;
    LRA_RETURN_IF_ERROR(CheckFreeFolder(final_path_));
    return FileError(error, "rename to", final_path_);
  }
  path_.clear();
  return SyncFolder(ParentOf(final_path_));
}

absl::Status ReplaceDirectory(absl::string_view fresh_path, absl::string_view out_path) {
  const std::string fresh(fresh_path), out(out_path);
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, out.c_str(), RENAME_EXCHANGE) == 0) {
    // the replacement is done; what is left is cleaning up
    SyncFolder(ParentOf(out)).IgnoreError();
    RemoveAll(fresh).IgnoreError();
    return absl::OkStatus();
  }
  // Without an atomic exchange `out` is missing for a moment, but nothing is lost.
  const std::string old = TemporaryName(out);
  absl::Status status = RenameAndSync(out, old);
  if (status.ok()) {
    status = RenameAndSync(fresh, out);
    if (!status.ok()) RenameAndSync(old, out).IgnoreError();
  }
  RemoveAll(status.ok() ? old : fresh).IgnoreError();
  return status;
}

}  // namespace lra
