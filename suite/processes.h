// Worker processes, several at once, that end early when time is up or somebody asks.
#ifndef LRA_SUITE_PROCESSES_H_
#define LRA_SUITE_PROCESSES_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "suite/core_locks.h"
#include "suite/worker.h"

namespace lra {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Asks all Processes to stop: running workers get SIGTERM, and nothing new is begun. Safe in a
// signal handler. Holds until ForgetStop().
void StopSuite();
bool StopWasAsked();
void ForgetStop();

// Gives each worker cores of its own; without locks the system chooses among all.
struct Pinning {
  std::shared_ptr<CoreLocks> locks;
  int cores_each = 1;
};

class Processes {
 public:
  Processes(int workers, Deadline deadline, Pinning pinning = {})
      : workers_(workers),
        deadline_(deadline),
        pinning_(std::move(pinning)),
        held_(static_cast<size_t>(workers)) {}

  // Calls work(worker) for each worker, 0 .. workers - 1, in a thread of its own and returns once
  // all have returned: the first error, after which the others are stopped.
  absl::Status Run(const std::function<absl::Status(int worker)>& work);

  struct End : WorkerEnd {
    bool was_stopped = false;  // by this object, or by somebody's SIGTERM
    bool was_pinned = false;
    double wall_seconds = 0;
  };
  // Within work(worker): runs a program to its end. With locks it is pinned to the cores that the
  // worker's process before had, or to cores that it takes now; where too few are free, it runs
  // unpinned. Cancelled without starting it while all are to stop; Internal where it cannot be
  // started.
  absl::StatusOr<End> RunProcess(int worker, WorkerCommand command);

  bool is_stopping();

 private:
  void Supervise();
  std::vector<int> CoresOf(int worker);

  const int workers_;
  const Deadline deadline_;
  const Pinning pinning_;
  // The cores of each worker, used by its thread alone.
  std::vector<std::optional<CoreLocks::Held>> held_;
  std::mutex mutex_;
  std::condition_variable done_;
  // Guarded by mutex_.
  int working_ = 0;
  bool is_stopping_ = false;
  std::set<pid_t> processes_;
  absl::Status error_;
};

}  // namespace lra

#endif  // LRA_SUITE_PROCESSES_H_
