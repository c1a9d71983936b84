#include "lra/lease.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kMostBytes = 4096;
// How far the clocks of machines may be apart in what SeemsHeld() tells.
constexpr double kClockSeconds = 60;

std::string FileOf(const std::string& path, int number) { return absl::StrCat(path, "-", number); }

// The running system: another one after each start, unlike for unlike machines.
std::string ThisSystem() {
  const std::string id = ReadFile("/proc/sys/kernel/random/boot_id", kMostBytes).value_or("");
  return id.empty() ? "unknown" : std::string(absl::StripAsciiWhitespace(id));
}

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// "SYSTEM HOST PID NUMBER": unlike for unlike leases.
std::string NewOwner() {
  std::random_device random;
  return absl::StrCat(ThisSystem(), " ", HostName(), " ", getpid(), " ",
                      absl::StrFormat("%08x%08x", random(), random()));
}

// What the file holds: of equal length for all counts, so that a file is rewritten as a whole.
std::string Content(const std::string& owner, int64_t beats) {
  return absl::StrFormat("%s %020d\n", owner, beats);
}

struct Found {
  int number = 0;
  std::string content;
  std::vector<std::string> words() const { return absl::StrSplit(content, ' '); }
  bool is_of_this_system() const { return words()[0] == ThisSystem(); }
  std::string holder() const {
    const std::vector<std::string> all = words();
    return all.size() < 3 ? "a process" : absl::StrCat("process ", all[2], " of host ", all[1]);
  }
};

int HighestNumber(const std::string& path) {
  const std::string prefix = absl::StrCat(fs::path(path).filename().string(), "-");
  int highest = 0;
  std::error_code none;
  for (fs::directory_iterator it(fs::path(path).parent_path(), none), end; !none && it != end;
       it.increment(none)) {
    const std::string name = it->path().filename().string();
    absl::string_view digits = name;
    int number = 0;
    if (absl::ConsumePrefix(&digits, prefix) && absl::SimpleAtoi(digits, &number))
      highest = std::max(highest, number);
  }
  return highest;
}

std::optional<Found> Highest(const std::string& path) {
  const int number = HighestNumber(path);
  if (number == 0) return std::nullopt;
  const absl::StatusOr<std::string> content = ReadFile(FileOf(path, number), kMostBytes);
  if (absl::IsNotFound(content.status())) return std::nullopt;
  return Found{number, content.value_or("")};
}

// Whether the file stays as it is for as long as a living holder would never leave it.
bool StaysUnchanged(const std::string& path, const Found& found, const LeaseOptions& options) {
  const auto end = Clock::now() + options.beat * options.missed_beats;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(options.beat / 8);
    const std::optional<Found> now = Highest(path);
    if (!now) return true;  // released
    if (now->number != found.number || now->content != found.content) return false;
  }
  return true;
}

absl::Status InUse(const std::string& path, const std::string& holder) {
  return absl::FailedPreconditionError(absl::StrCat("\"", path, "\" is held by ", holder));
}

// Makes the file unless it is there.
absl::Status Create(const std::string& path, int number, const std::string& content) {
  const std::string file = FileOf(path, number);
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0 && errno == EEXIST) return InUse(path, "a process that was faster");
  const bool is_whole =
      descriptor >= 0 &&
      ::write(descriptor, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (is_whole) return absl::OkStatus();
  if (descriptor >= 0) ::unlink(file.c_str());
  return absl::InternalError(absl::StrCat("cannot write \"", file, "\": ", std::strerror(error)));
}

}  // namespace

Lease::Lease(std::string path, int number, std::string owner, const LeaseOptions& options)
    : path_(std::move(path)), number_(number), owner_(std::move(owner)), beat_(options.beat) {
  thread_ = std::thread([this] { KeepBeating(); });
}

absl::StatusOr<std::unique_ptr<Lease>> Lease::Take(const std::string& path,
                                                   const LeaseOptions& options) {
  const std::optional<Found> found = Highest(path);
  const bool is_dead = !found || (options.is_locked_here && found->is_of_this_system());
  if (!is_dead) {
    if (options.on_wait) options.on_wait(found->holder());
    if (!StaysUnchanged(path, *found, options)) return InUse(path, found->holder());
  }
  const int number = found ? found->number + 1 : 1;
  const std::string owner = NewOwner();
  LRA_RETURN_IF_ERROR(Create(path, number, Content(owner, 0)));
  // A holder that was only slow finds it gone.
  if (found) ::unlink(FileOf(path, found->number).c_str());
  return std::unique_ptr<Lease>(new Lease(path, number, owner, options));
}

Lease::~Lease() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_all();
  thread_.join();
  if (IsMine()) ::unlink(File().c_str());
}

std::string Lease::File() const { return FileOf(path_, number_); }

bool Lease::IsMine() const {
  const absl::StatusOr<std::string> content = ReadFile(File(), kMostBytes);
  return content.ok() && absl::StartsWith(*content, owner_);
}

absl::Status Lease::Confirm() const {
  if (!is_lost_ && IsMine() && HighestNumber(path_) == number_) return absl::OkStatus();
  const std::optional<Found> now = Highest(path_);
  return absl::AbortedError(absl::StrCat("\"", path_, "\" was taken over by ",
                                         now ? now->holder() : "a process that has ended",
                                         ": this one was too slow to say that it lives"));
}

void Lease::KeepBeating() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_.wait_for(lock, beat_, [this] { return is_ending_; })) {
    lock.unlock();
    if (!Beat()) is_lost_ = true;
    lock.lock();
    if (is_lost_) return;
  }
}

// False where the lease is lost; a disk that cannot be reached is asked again.
bool Lease::Beat() {
  const absl::StatusOr<std::string> content = ReadFile(File(), kMostBytes);
  if (absl::IsNotFound(content.status())) return false;
  if (!content.ok()) return true;
  if (!absl::StartsWith(*content, owner_)) return false;
  const int descriptor = ::open(File().c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return errno != ENOENT;
  const std::string next = Content(owner_, ++beats_);
  // Where it cannot be written, others will take over, and Confirm() will find that out.
  [[maybe_unused]] const ssize_t written = ::pwrite(descriptor, next.data(), next.size(), 0);
  ::close(descriptor);  // network file systems send it on now
  return true;
}

bool Lease::SeemsHeld(const std::string& path, bool counts_this_system,
                      const LeaseOptions& options) {
  const std::optional<Found> found = Highest(path);
  if (!found || (!counts_this_system && found->is_of_this_system())) return false;
  struct stat file {};
  if (::stat(FileOf(path, found->number).c_str(), &file) != 0) return false;
  const double age_seconds = std::abs(std::difftime(std::time(nullptr), file.st_mtime));
  const double alive_seconds =
      std::chrono::duration<double>(options.beat * options.missed_beats).count();
  return age_seconds < alive_seconds + kClockSeconds;
}

}  // namespace lra
