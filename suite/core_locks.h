// Cores that a worker has for itself, also beside other suites. Each core has a file in a folder
// that all suites of a user share; whoever holds the file's lock (flock) has the core. The kernel
// takes the locks from a process that ends, however it ends.
//
// The suite holds them and not its workers: a worker that is left behind by a killed suite gets
// SIGTERM and only saves, and the suite that goes on at once shall have the cores.
#ifndef LRA_SUITE_CORE_LOCKS_H_
#define LRA_SUITE_CORE_LOCKS_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

class CoreLocks {
 public:
  // Cores that nobody else takes until the object goes.
  class Held {
   public:
    Held(Held&&) noexcept = default;  // empties the other's vectors
    Held& operator=(Held&&) = delete;
    ~Held();
    const std::vector<int>& cores() const { return cores_; }

   private:
    friend class CoreLocks;
    Held() = default;
    std::vector<int> cores_, descriptors_;
  };

  // `cores` are taken in this order. Makes the folder for this user alone. InvalidArgument where it
  // is a link, another user's or open to others, where its file system has no locks, and where
  // there are no cores.
  static absl::StatusOr<std::shared_ptr<CoreLocks>> Open(const std::string& folder,
                                                         std::vector<int> cores);
  ~CoreLocks();
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;

  // ResourceExhausted, and nothing is taken, where fewer are free; InvalidArgument where a lock's
  // file cannot be made.
  absl::StatusOr<Held> Take(int count);
  // None where Take() fails. The first time, a line on standard error says so, and why.
  std::optional<Held> TakeOrNote(int count);

 private:
  CoreLocks(std::string folder, int descriptor, std::vector<int> cores)
      : folder_(std::move(folder)), descriptor_(descriptor), cores_(std::move(cores)) {}
  // The descriptor of a locked file (`how`: as for flock()); -1 = somebody else has the lock.
  absl::StatusOr<int> Lock(const std::string& name, int how) const;

  const std::string folder_;
  const int descriptor_;
  const std::vector<int> cores_;
  std::mutex mutex_;
  bool has_noted_ = false;  // guarded by mutex_
};

// "/tmp/lra-cores-UID", or $LRA_CORE_LOCKS. What sessions of a user may have of their own, such as
// $TMPDIR and $XDG_RUNTIME_DIR, plays no part: suites of all sessions must meet.
std::string CoreLocksFolder();

// The cores in another order: hyperthreads that share a processor core with one before them come
// last. `cpus` is where Linux describes its cores; those of which it says nothing stay.
std::vector<int> SiblingsLast(std::vector<int> cores,
                              const std::string& cpus = "/sys/devices/system/cpu");

}  // namespace lra

#endif  // LRA_SUITE_CORE_LOCKS_H_
