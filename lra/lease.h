// A claim that holds between machines that share a folder, where the kernel's locks (FileLock) may
// reach no further than one of them. It is a file that its holder rewrites every few seconds; who
// finds it unchanged for three such times takes over. Clocks of machines are never compared: each
// measures with its own how long it has seen no change.
//
// Files are PATH-1, PATH-2, ...: the highest holds. Taking over makes the next one, which of two
// machines only one can (O_EXCL), so that a holder that was only slow finds that it has lost.
#ifndef LRA_LEASE_H_
#define LRA_LEASE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lra {

struct LeaseOptions {
  std::chrono::milliseconds beat{10000};
  int missed_beats = 3;
  // The caller holds a lock that no other process of this running system can hold, so that a lease
  // of this system is that of a dead process.
  bool is_locked_here = false;
  // Called with the holder's name before the wait that shows whether it lives.
  std::function<void(const std::string& holder)> on_wait;
};

class Lease {
 public:
  // FailedPrecondition, naming the holder, while one lives; Internal where the file cannot be made.
  static absl::StatusOr<std::unique_ptr<Lease>> Take(const std::string& path,
                                                     const LeaseOptions& options = {});
  // Removes the file if it is still this one's.
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Aborted where another process has taken over. To be asked before each write that would spoil
  // its work.
  absl::Status Confirm() const;

  // Whether a process of another system, or of any, seems to hold it, by the file's age: an answer
  // for displays that does not wait, and that clocks of machines can make wrong.
  static bool SeemsHeld(const std::string& path, bool counts_this_system,
                        const LeaseOptions& options = {});

 private:
  Lease(std::string path, int number, std::string owner, const LeaseOptions& options);
  void KeepBeating();
  bool Beat();
  bool IsMine() const;
  std::string File() const;

  const std::string path_;
  const int number_;
  const std::string owner_;
  const std::chrono::milliseconds beat_;
  std::atomic<bool> is_lost_{false};
  int64_t beats_ = 0;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool is_ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace lra

#endif  // LRA_LEASE_H_
