// A suite before its first run: measured, planned, ordered.
#ifndef LRA_SUITE_RUN_SUITE_H_
#define LRA_SUITE_RUN_SUITE_H_

#include <cstdint>
#include <functional>
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
  std::string data_dir;  // of all runs; empty = each task's default (DataFolderOf)
  int workers = 0;       // 0 = as many as there are cores for their threads and the memory bears
  int threads = 1;       // of each run
  int at_once = 1;       // seeds of a cell that a worker trains in one process
  Pinning pinning;       // of training and of measuring
  Deadline deadline;
  bool retries_failed = false;
  bool is_quiet = false;
  bool measures = true;  // what no finished run tells
  // Tasks whose cells are not measured, because their data is not there, and what to say of it.
  std::map<std::string, std::string> not_measured;
  std::vector<std::string> train_flags;  // further flags of `lra train`
  // What stands behind --device for a worker with this PlaceOfWorker(); unset = the same for all.
  std::function<std::string(const std::string& device, int64_t place)> device_of_worker;
  int part = 0;  // that these runs are of the suite: k of --shard k/n
  std::map<std::string, std::string> data_of_task;  // DataDigest()
};

// What stands behind a flag such as "--graphs" in train_flags; empty where it is not there.
std::string ValueOfFlag(const SuiteRunOptions& options, const char* flag);
// That of --device, "cpu" where nothing is; and without a card's number, "cuda" for "cuda:1".
std::string DeviceOf(const SuiteRunOptions& options);
std::string DeviceKind(const SuiteRunOptions& options);
// Where worker 0, 1, ... stands in the row of all parts' workers, by which they take cards in turn:
// parts that run on one machine begin with different cards. Each part is taken to have as many
// workers as this one, or a single one where nobody said how many.
int64_t PlaceOfWorker(const SuiteRunOptions& options, int worker);
// The flags of worker 0, 1, ...
std::vector<std::string> FlagsOfWorker(const SuiteRunOptions& options, int worker);

struct PlannedSuite {
  std::vector<SuiteCell> cells;  // cheapest first within each seed
  SuitePlan plan;                // of these cells
  // Why a cell could not be measured, by CellName().
  std::map<std::string, std::string> failures;
  // ResourceExhausted where this machine's memory, or the disk, does not suffice.
  absl::Status fits_memory, fits_disk;
};

// Measures what no finished run tells, unless that is not wanted. Where no number of workers was
// asked for and the memory does not bear as many as there are cores, plans fewer. Cancelled after
// StopSuite(); the errors of MeasureCells.
absl::StatusOr<PlannedSuite> PlanSuite(const std::vector<SuiteCell>& cells,
                                       const SuiteRunOptions& options);

}  // namespace lra

#endif  // LRA_SUITE_RUN_SUITE_H_
