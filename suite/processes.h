// Worker processes, several at once, that end early when time is up or somebody asks.
#ifndef LRA_SUITE_PROCESSES_H_
#define LRA_SUITE_PROCESSES_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "suite/worker.h"

namespace lra {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Asks all Processes to stop: running workers get SIGTERM, and nothing new is begun. Safe in a
// signal handler. Holds until ForgetStop().
void StopSuite();
bool StopWasAsked();
void ForgetStop();

class Processes {
 public:
  Processes(int workers, Deadline deadline) : workers_(workers), deadline_(deadline) {}

  // Calls work(worker) for each worker, 0 .. workers - 1, in a thread of its own and returns once
  // all have returned: the first error, after which the others are stopped.
  absl::Status Run(const std::function<absl::Status(int worker)>& work);

  struct End : WorkerEnd {
    bool was_stopped = false;  // by this object, or by somebody's SIGTERM
    double wall_seconds = 0;
  };
  // Within work(): runs a program to its end, on whichever cores the system chooses: other
  // suites may be at work beside this one. Cancelled without starting it while all are to stop;
  // Internal where it cannot be started.
  absl::StatusOr<End> RunProcess(const WorkerCommand& command);

  bool is_stopping();

 private:
  void Supervise();

  const int workers_;
  const Deadline deadline_;
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
