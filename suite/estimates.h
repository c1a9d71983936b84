// Estimates of the cells of a suite, each measured once by `lra train --dry-run` and kept in
// OUT/plan/CELL.textproto (SuiteEstimate).
#ifndef LRA_SUITE_ESTIMATES_H_
#define LRA_SUITE_ESTIMATES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "suite/cells.h"
#include "suite/processes.h"

namespace lra {

// By CellName().
using EstimateOfCell = std::map<std::string, SuiteEstimate>;

// Those that are there, of whatever machine.
EstimateOfCell ReadEstimates(const std::string& out, const std::vector<SuiteCell>& cells);

struct MeasureOptions {
  std::string out;
  int workers = 1;
  int threads = 1;  // of each run
  Pinning pinning;
  Deadline deadline;
  bool is_quiet = false;
  std::string device;                    // of the runs (DeviceKind)
  std::vector<std::string> train_flags;  // device, kernels and all else that `command` adds
  // SHA-256 of the data of each task (DataDigest).
  std::map<std::string, std::string> data_of_task;
  // What measures a run and prints a RunEstimate as JSON; it may use a folder of this name.
  std::function<std::vector<std::string>(const SuiteCell&, const std::string& folder, int worker)>
      command;  // of worker 0 .. workers - 1
};

// What `options` and this machine and program make of an estimate's key.
std::string EstimateKey(const SuiteCell& cell, const MeasureOptions& options);

struct MeasuredCells {
  EstimateOfCell estimates;
  std::map<std::string, std::string> failures;  // by CellName(): why a cell could not be measured
};

// Measures the cells, one run of each given, as many at once as will be trained at once; those that
// are there with the same key are taken as they are. Another process may measure the same cells for
// the same folder meanwhile. Stopped or late, it returns what it has. The errors of RunProcess and
// of writing into OUT.
absl::StatusOr<MeasuredCells> MeasureCells(const std::vector<SuiteCell>& cells,
                                           const MeasureOptions& options);

}  // namespace lra

#endif  // LRA_SUITE_ESTIMATES_H_
