// A process that trains one run.
#ifndef LRA_SUITE_WORKER_H_
#define LRA_SUITE_WORKER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

struct WorkerCommand {
  std::vector<std::string> words;  // program and arguments
  std::string log;                 // a file that standard output and errors are added to
  std::string output;              // a file for standard output instead; empty = the log
  std::vector<int> cores;          // the only ones that it runs on; empty = those of this program
};

// Starts it in a process group of its own, so that Ctrl-C reaches this program alone; the
// kernel sends SIGTERM to it when the calling thread ends, so that no worker outlives a killed
// suite for longer than a step. Internal where the system gives no process.
absl::StatusOr<pid_t> StartWorker(const WorkerCommand& command);

// The exit code of a worker whose program could not be started.
inline constexpr int kNotStarted = 127;

struct WorkerEnd {
  int exit_code = 0;  // where `signal` is 0
  int signal = 0;
  double cpu_seconds = 0;
  int64_t peak_memory_bytes = 0;  // resident
};

// Waits for its end; the number stays taken until ReapWorker().
void AwaitWorker(pid_t worker);
WorkerEnd ReapWorker(pid_t worker);

}  // namespace lra

#endif  // LRA_SUITE_WORKER_H_
