// What the runs of a suite will take, predicted from measured steps and from runs that have ended.
#ifndef LRA_SUITE_PLAN_H_
#define LRA_SUITE_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "suite/estimates.h"
#include "suite/state.h"

namespace lra {

// What one run takes.
struct RunCost {
  double wall_seconds = 0;
  double cpu_seconds = 0;
  int64_t memory_bytes = 0;  // of a process with memory_runs of them, this one's share
  int memory_runs = 1;
  int64_t disk_bytes = 0;          // at most
  int64_t passing_disk_bytes = 0;  // those of them that are gone when it has ended
  int finished_runs = 0;           // of the same cell, whose mean this is; 0 = from measured steps
  // What a process takes that trains so many of them side by side, at most: where fewer shared it
  // than were measured, nobody knows how much less it is.
  int64_t process_memory_bytes(int runs) const {
    return memory_bytes * std::max(runs, memory_runs);
  }
};

// What is known of a run, and of what is left of it.
struct RunPlan {
  std::string cell;  // CellName(); runs of one cell may share a process
  std::optional<RunCost> cost;
  bool is_left = false;
  double left_share = 0;  // of its time: of its steps, and all of its scoring
  double seconds_left() const { return cost ? left_share * cost->wall_seconds : 0; }
};

struct SuitePlan {
  std::vector<RunPlan> runs;  // in the order of the cells
  int workers = 1, at_once = 1;
  int left = 0, unknown = 0;  // runs that are left, and those of them whose cost is not known
  double wall_seconds = 0;    // until the last worker has ended
  double cpu_seconds = 0;
  int64_t memory_bytes = 0;  // of as many of the largest processes as there are workers
  int runs_at_once = 0;      // of these processes
  int64_t disk_bytes = 0;    // of what is left, where so many are under way
};

struct PlanOptions {
  int workers = 1;  // at least 1
  int at_once = 1;  // runs of a cell in one process, whose memory is taken to be theirs together
  bool retries_failed = false;
  std::string device;  // whose finished runs count (DeviceKind); empty = those of any
};

// The mean of finished runs of the same cell where there are any; else the estimate. A run that was
// finished, diverged or failed (unless these are tried again) takes no more.
SuitePlan MakePlan(const std::string& out, const std::vector<SuiteCell>& cells,
                   const std::vector<CellStatus>& statuses, const EstimateOfCell& estimates,
                   const PlanOptions& options);

// The cells with the cheapest of each seed first, of equals in the given order. Runs whose cost is
// not known come last within their seed.
std::vector<SuiteCell> CheapestFirst(const std::vector<SuiteCell>& cells, const SuitePlan& plan);

// How many of the plan's workers the memory bears at once; 0 where it does not bear the largest
// process alone.
int WorkersThatFit(const SuitePlan& plan, int64_t memory_bytes);

// ResourceExhausted, with both figures, where less of the disk is free than what is left needs.
absl::Status CheckDisk(const SuitePlan& plan, const std::string& out);

// A line a cell with the cost of a run, and the totals.
std::string PlanText(const std::vector<SuiteCell>& cells, const SuitePlan& plan);
nlohmann::ordered_json PlanJson(const std::vector<SuiteCell>& cells, const SuitePlan& plan);

// "12 runs left: about 1 h 20 min on 2 workers, ..."
std::string TotalText(const SuitePlan& plan);
// The same, with "left" as the names of the runs.
nlohmann::ordered_json TotalJson(const std::vector<SuiteCell>& cells, const SuitePlan& plan);

// What effects, contrasts and pairs will not say of cells with few seeds, known before they
// train; empty where there is one cell, or each has kLeastPairedSeeds.
std::string FewSeedsText(const std::vector<SuiteCell>& cells);

// The times of runs that have ended beside the predicted ones: "12 runs took 1 h 22 min, predicted
// were 1 h 20 min (+2.5 %; single runs -3.0 % to +8.1 %)"; empty where there is none.
std::string PredictionErrorText(const std::string& out, const std::vector<SuiteCell>& cells,
                                const std::vector<CellStatus>& statuses,
                                const EstimateOfCell& estimates);

}  // namespace lra

#endif  // LRA_SUITE_PLAN_H_
