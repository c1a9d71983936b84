// Trains the runs of a suite, several at once.
#ifndef LRA_SUITE_POOL_H_
#define LRA_SUITE_POOL_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "suite/cells.h"
#include "suite/processes.h"
#include "suite/state.h"

namespace lra {

struct PoolOptions {
  std::string out;  // ClaimSuiteFolder() made it
  int workers = 1;
  // Seeds of a cell that a worker trains side by side in one process (lra train --at-once).
  int at_once = 1;
  Pinning pinning;
  Deadline deadline;  // then runs are saved and stopped
  bool retries_failed = false;
  bool is_quiet = false;
  // What trains runs that differ in the seed alone, as worker 0 .. workers - 1.
  std::function<std::vector<std::string>(const std::vector<const SuiteCell*>&, int worker)> command;
  // Predicted seconds that are left of each of the cells; empty = nothing is known of any.
  std::vector<double> seconds_left;
  std::string device = "cpu";  // that times are noted for (DeviceKind)
  std::string system_root;     // MemoryKills(): stands for "/"
};

// `program train ...` for runs that differ in the seed alone, whose folders are OUT/NAME, all at
// once. One run as TrainCommand() has it.
std::vector<std::string> TrainManyCommand(const std::string& program, const std::string& out,
                                          const std::vector<const SuiteCell*>& cells, int threads,
                                          const std::vector<std::string>& flags = {});

// `program train ...` for a run in this folder, going on with what is there; `flags` are further
// ones of `lra train`. "/proc/self/exe" is the program that runs now, even when its file has been
// replaced.
std::vector<std::string> TrainCommand(const std::string& program, const std::string& run_directory,
                                      const SuiteCell& cell, int threads,
                                      const std::vector<std::string>& flags = {});

// Trains what is left, in order, and waits for what other processes train. A run that is predicted
// to end after the deadline gives way to the first that ends before it; where none does, the one
// with the least left is begun, and stopped in time. No more seeds of a cell go together than end
// before it. A run that ends without a record is noted as
// failed (unless it was stopped or another process has it) and the next begins; the caller reads
// how it ended from the folders. The errors of RunProcess and of writing into OUT.
absl::Status RunCells(const std::vector<SuiteCell>& cells, const PoolOptions& options);

}  // namespace lra

#endif  // LRA_SUITE_POOL_H_
