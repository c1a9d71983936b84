// A suite from its cells to its end: measured, planned, ordered, trained.
#ifndef LRA_SUITE_RUN_SUITE_H_
#define LRA_SUITE_RUN_SUITE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "suite/plan.h"
#include "suite/processes.h"

namespace lra {

struct SuiteRunOptions {
  std::string program = "/proc/self/exe";  // that trains and measures
  std::string out;
  int workers = 0;  // 0 = as many as there are cores for their threads and the memory bears
  int threads = 1;  // of each run
  Deadline deadline;
  bool retries_failed = false;
  bool is_quiet = false;
  std::vector<std::string> train_flags;             // further flags of `lra train`
  std::map<std::string, std::string> data_of_task;  // DataDigest()
};

struct PlannedSuite {
  std::vector<SuiteCell> cells;  // cheapest first within each seed
  SuitePlan plan;                // of these cells
  // Why a cell could not be measured, by CellName().
  std::map<std::string, std::string> failures;
  // ResourceExhausted where memory or disk do not suffice.
  absl::Status fits;
};

// Measures what no finished run tells. Where no number of workers was asked for and the memory does
// not bear as many as there are cores, plans fewer. Cancelled after StopSuite(); the errors of
// MeasureCells.
absl::StatusOr<PlannedSuite> PlanSuite(const std::vector<SuiteCell>& cells,
                                       const SuiteRunOptions& options);

// Trains what is left of a planned suite. The folder is claimed (ClaimSuiteFolder). The errors of
// RunCells.
absl::Status TrainSuite(const PlannedSuite& planned, const SuiteRunOptions& options);

}  // namespace lra

#endif  // LRA_SUITE_RUN_SUITE_H_
