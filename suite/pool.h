// Trains the runs of a suite, several at once.
#ifndef LRA_SUITE_POOL_H_
#define LRA_SUITE_POOL_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "suite/cells.h"
#include "suite/state.h"
#include "suite/worker.h"

namespace lra {

struct PoolOptions {
  std::string out;  // ClaimSuiteFolder() made it
  int workers = 1;
  int threads = 1;            // of each run
  double budget_seconds = 0;  // after that runs are saved and stopped; 0 = no limit
  bool retries_failed = false;
  bool is_quiet = false;
  // What trains a run; TrainCommand() where nothing else is said.
  std::function<std::vector<std::string>(const SuiteCell&)> command;
};

// `program train ...` for a run in its folder, going on with what is there. "/proc/self/exe" is the
// program that runs now, even when its file has been replaced.
std::vector<std::string> TrainCommand(const std::string& program, const std::string& out,
                                      const SuiteCell& cell, int threads);

// Which cores each worker has to itself: those of `allowed` in order where they are just as many as
// all workers need, else none, because other programs may be on them.
std::vector<std::vector<int>> CoresOfWorkers(int workers, int threads,
                                             const std::vector<int>& allowed);

// Asks RunCells to stop: running workers save and end, and nothing new is begun. Safe in a signal
// handler.
void StopSuite();

// Trains what is left, in order, and waits for what other processes train. A run that ends without
// a record is noted as failed (unless it was stopped) and the next begins; the caller reads how it
// ended from the folders. The errors of StartWorker and of writing into OUT; Internal where the
// program cannot be started.
absl::Status RunCells(const std::vector<SuiteCell>& cells, const PoolOptions& options);

}  // namespace lra

#endif  // LRA_SUITE_POOL_H_
