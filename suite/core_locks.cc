#include "suite/core_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::Status LocksError(const std::string& folder, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the folder of locks of cores, \"", folder, "\", ", what));
}

// What is wrong with an open folder; empty = nothing.
std::string FaultOf(int descriptor) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0) return absl::StrCat("is unreadable: ", std::strerror(errno));
  if (found.st_uid != geteuid() || (found.st_mode & 0077) != 0) {
    return absl::StrFormat(
        "is of user %d with mode %04o, must be of user %d with mode 0700; name "
        "another in LRA_CORE_LOCKS",
        found.st_uid, found.st_mode & 07777, geteuid());
  }
  // The program that cleans /tmp on most systems (systemd-tmpfiles) leaves a locked folder alone.
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno != EWOULDBLOCK)
    return absl::StrCat("cannot be locked: ", std::strerror(errno));
  return "";
}

// Whether a list such as "0-3,8" names the core.
bool ListNames(absl::string_view list, int core) {
  for (const absl::string_view part : absl::StrSplit(absl::StripAsciiWhitespace(list), ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    int first = 0, last = 0;
    if (absl::SimpleAtoi(ends.front(), &first) && absl::SimpleAtoi(ends.back(), &last) &&
        first <= core && core <= last)
      return true;
  }
  return false;
}

// Closing is not enough while a worker that was forked just now has not come to its exec.
void Unlock(int descriptor) {
  flock(descriptor, LOCK_UN);
  close(descriptor);
}

}  // namespace

CoreLocks::Held::~Held() {
  for (const int descriptor : descriptors_) Unlock(descriptor);
}

absl::StatusOr<std::shared_ptr<CoreLocks>> CoreLocks::Open(const std::string& folder,
                                                           std::vector<int> cores) {
  if (cores.empty()) {
    return absl::InvalidArgumentError(
        "the system does not say which cores this process may use (Linux does)");
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return LocksError(folder, absl::StrCat("cannot be made: ", std::strerror(errno)));
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) {
    return LocksError(folder, absl::StrCat("cannot be opened: ", std::strerror(errno),
                                           "; it must be a folder, and no link"));
  }
  const std::string fault = FaultOf(descriptor);
  if (!fault.empty()) {
    close(descriptor);
    return LocksError(folder, fault);
  }
  return std::shared_ptr<CoreLocks>(new CoreLocks(folder, descriptor, std::move(cores)));
}

CoreLocks::~CoreLocks() { close(descriptor_); }

absl::StatusOr<int> CoreLocks::Lock(const std::string& name, int how) const {
  const int file =
      openat(descriptor_, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  while (file >= 0) {
    if (flock(file, how) == 0) return file;
    if (errno != EINTR) break;
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (file >= 0 && error == EWOULDBLOCK) return -1;
  return LocksError(folder_, absl::StrCat("has no lock for ", name, ": ", std::strerror(error)));
}

absl::StatusOr<CoreLocks::Held> CoreLocks::Take(int count) {
  // Two that take cores at once could leave each other too few: threads, and suites.
  std::lock_guard<std::mutex> lock(mutex_);
  LRA_ASSIGN_OR_RETURN(const int turn, Lock("taking", LOCK_EX));
  const absl::Cleanup end_turn = [turn] { Unlock(turn); };
  Held held;
  const auto wanted = static_cast<size_t>(count);
  for (const int core : cores_) {
    if (held.cores_.size() == wanted) break;
    LRA_ASSIGN_OR_RETURN(const int descriptor,
                         Lock(absl::StrCat("core-", core), LOCK_EX | LOCK_NB));
    if (descriptor < 0) continue;
    held.cores_.push_back(core);
    held.descriptors_.push_back(descriptor);
  }
  if (held.cores_.size() == wanted) return held;
  return absl::ResourceExhaustedError(absl::StrCat(
      "it takes ", count, " of ", cores_.size(), " cores, and ", held.cores_.size(), " are free"));
}

std::optional<CoreLocks::Held> CoreLocks::TakeOrNote(int count) {
  absl::StatusOr<Held> held = Take(count);
  if (held.ok()) return std::optional<Held>(*std::move(held));
  std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(has_noted_, true)) {
    std::cerr << "note: a worker runs unpinned, as others may: " << held.status().message()
              << std::endl;
  }
  return std::nullopt;
}

std::string CoreLocksFolder() {
  const char* const given = std::getenv("LRA_CORE_LOCKS");
  if (given != nullptr && *given != '\0') return given;
  return absl::StrCat("/tmp/lra-cores-", geteuid());
}

std::vector<int> SiblingsLast(std::vector<int> cores, const std::string& cpus) {
  std::map<int, int> siblings_before;
  for (const int core : cores) {
    const std::string list =
        ReadFile(absl::StrCat(cpus, "/cpu", core, "/topology/thread_siblings_list")).value_or("");
    siblings_before[core] =
        static_cast<int>(std::count_if(cores.begin(), cores.end(), [&](int other) {
          return other < core && ListNames(list, other);
        }));
  }
  std::stable_sort(cores.begin(), cores.end(),
                   [&](int a, int b) { return siblings_before[a] < siblings_before[b]; });
  return cores;
}

}  // namespace lra
