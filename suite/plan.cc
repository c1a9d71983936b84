#include "suite/plan.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/fingerprint.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "suite/times.h"

namespace lra {
namespace {

struct Sum {
  RunCost cost;
  void Add(const SuiteTime& time) {
    cost.wall_seconds += time.wall_seconds();
    cost.cpu_seconds += time.cpu_seconds();
    if (time.peak_memory_bytes() >= cost.memory_bytes) {
      cost.memory_bytes = time.peak_memory_bytes();
      cost.memory_runs = std::max(1, time.runs_at_once());
    }
    ++cost.finished_runs;
  }
  RunCost Mean() const {
    RunCost mean = cost;
    mean.wall_seconds /= cost.finished_runs;
    mean.cpu_seconds /= cost.finished_runs;
    return mean;
  }
};

std::map<std::string, RunCost> FinishedCosts(const std::string& out,
                                             const std::vector<SuiteCell>& cells,
                                             const std::vector<CellStatus>& statuses,
                                             const std::string& device) {
  std::map<std::string, Sum> sums;
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto time = WholeTime(out, cells[i], statuses[i]);
    if (time && (device.empty() || time->device() == device)) sums[CellName(cells[i])].Add(*time);
  }
  std::map<std::string, RunCost> costs;
  for (const auto& [name, sum] : sums) costs[name] = sum.Mean();
  return costs;
}

RunCost CostOf(const RunEstimate& estimate) {
  int64_t passing = 0;
  for (const StageCost& stage : estimate.stage())
    passing = std::max<int64_t>(passing, stage.checkpoint_bytes());
  return {.wall_seconds = estimate.wall_seconds(),
          .cpu_seconds = estimate.cpu_seconds(),
          .memory_bytes = estimate.peak_memory_bytes(),
          .disk_bytes = estimate.disk_bytes(),
          .passing_disk_bytes = passing};
}

// What of a run is scoring, which begins anew where it was interrupted; unset where nobody knows.
std::optional<double> ScoringShare(const RunEstimate& estimate) {
  if (estimate.wall_seconds() <= 0 || estimate.score_seconds() <= 0) return std::nullopt;
  return std::min(1.0, estimate.score_seconds() / estimate.wall_seconds());
}

// Within a search or pretraining a step is one of a part, so that nothing is known of the whole.
double LeftShare(const SuiteCell& cell, const CellStatus& status, const RunEstimate& estimate) {
  const auto steps = static_cast<double>(std::max<int64_t>(1, cell.config.train().steps()));
  if (!status.folder.part.empty()) return 1;
  const double share = std::clamp(1 - static_cast<double>(status.folder.step()) / steps, 0.0, 1.0);
  if (const std::optional<double> scoring = ScoringShare(estimate))
    return *scoring + (1 - *scoring) * share;
  return share > 0 ? share : 1;
}

// The times at which workers end that each take the next run.
double SecondsOnWorkers(const std::vector<RunPlan>& runs, int workers) {
  std::vector<double> ends(static_cast<size_t>(workers));
  for (const RunPlan& run : runs) *std::min_element(ends.begin(), ends.end()) += run.seconds_left();
  return *std::max_element(ends.begin(), ends.end());
}

// What trains runs of one cell side by side.
struct TrainingProcess {
  const RunCost* cost = nullptr;  // of each
  int runs = 0;
  int64_t memory_bytes() const { return cost->process_memory_bytes(runs); }
  int64_t passing_disk_bytes() const { return runs * cost->passing_disk_bytes; }
};

// Those of what is left whose cost is known.
std::vector<TrainingProcess> ProcessesOf(const SuitePlan& plan) {
  std::vector<TrainingProcess> processes;
  std::map<std::string, size_t> last;  // by cell
  for (const RunPlan& run : plan.runs) {
    if (!run.is_left || !run.cost) continue;
    const auto [found, is_first] = last.emplace(run.cell, processes.size());
    if (is_first || processes[found->second].runs == plan.at_once) {
      found->second = processes.size();
      processes.push_back({&*run.cost});
    }
    ++processes[found->second].runs;
  }
  return processes;
}

// At most as many of them as there are workers: those that take the most of something.
std::vector<TrainingProcess> Largest(const SuitePlan& plan,
                                     int64_t (TrainingProcess::*bytes)() const) {
  std::vector<TrainingProcess> processes = ProcessesOf(plan);
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const TrainingProcess& a, const TrainingProcess& b) {
                     return (a.*bytes)() > (b.*bytes)();
                   });
  processes.resize(std::min(processes.size(), static_cast<size_t>(plan.workers)));
  return processes;
}

void AddTotals(SuitePlan* plan) {
  for (const RunPlan& run : plan->runs) {
    if (!run.is_left) continue;
    ++plan->left;
    plan->unknown += run.cost ? 0 : 1;
    if (!run.cost) continue;
    plan->cpu_seconds += run.left_share * run.cost->cpu_seconds;
    plan->disk_bytes += run.cost->disk_bytes - run.cost->passing_disk_bytes;
  }
  plan->wall_seconds = SecondsOnWorkers(plan->runs, plan->workers);
  for (const TrainingProcess& process : Largest(*plan, &TrainingProcess::memory_bytes)) {
    plan->memory_bytes += process.memory_bytes();
    plan->runs_at_once += process.runs;
  }
  for (const TrainingProcess& process : Largest(*plan, &TrainingProcess::passing_disk_bytes))
    plan->disk_bytes += process.passing_disk_bytes();
}

// The nearest folder above that is there.
std::filesystem::path ExistingFolder(const std::string& path) {
  std::filesystem::path folder = std::filesystem::absolute(path);
  std::error_code failed;
  while (!std::filesystem::exists(folder, failed) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder;
}

}  // namespace

SuitePlan MakePlan(const std::string& out, const std::vector<SuiteCell>& cells,
                   const std::vector<CellStatus>& statuses, const EstimateOfCell& estimates,
                   const PlanOptions& options) {
  const std::map<std::string, RunCost> finished =
      FinishedCosts(out, cells, statuses, options.device);
  SuitePlan plan;
  plan.workers = options.workers;
  plan.at_once = options.at_once;
  for (size_t i = 0; i < cells.size(); ++i) {
    RunPlan run;
    const std::string name = CellName(cells[i]);
    run.cell = name;
    RunEstimate estimate;
    if (const auto found = estimates.find(name); found != estimates.end()) {
      estimate = found->second.estimate();
      run.cost = CostOf(estimate);
    }
    if (const auto found = finished.find(name); found != finished.end()) {
      const RunCost measured = run.cost.value_or(RunCost());
      run.cost = found->second;
      run.cost->disk_bytes = measured.disk_bytes;
      run.cost->passing_disk_bytes = measured.passing_disk_bytes;
    }
    run.is_left =
        IsLeft(statuses[i], options.retries_failed) || statuses[i].state == CellState::kRunning;
    if (run.is_left) run.left_share = LeftShare(cells[i], statuses[i], estimate);
    plan.runs.push_back(run);
  }
  AddTotals(&plan);
  return plan;
}

std::vector<SuiteCell> CheapestFirst(const std::vector<SuiteCell>& cells, const SuitePlan& plan) {
  std::vector<size_t> order(cells.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) {
    return std::make_tuple(cells[i].seed, !plan.runs[i].cost, plan.runs[i].seconds_left());
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  std::vector<SuiteCell> sorted;
  for (const size_t i : order) sorted.push_back(cells[i]);
  return sorted;
}

int WorkersThatFit(const SuitePlan& plan, int64_t memory_bytes) {
  int64_t taken = 0;
  int fit = 0;
  for (const TrainingProcess& process : Largest(plan, &TrainingProcess::memory_bytes)) {
    taken += process.memory_bytes();
    if (taken > memory_bytes) return fit;
    ++fit;
  }
  return plan.workers;
}

absl::Status CheckDisk(const SuitePlan& plan, const std::string& out) {
  const std::filesystem::path folder = ExistingFolder(out);
  std::error_code failed;
  const std::filesystem::space_info space = std::filesystem::space(folder, failed);
  const auto free = static_cast<int64_t>(space.available);
  if (failed || plan.disk_bytes <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the runs that are left need ", FormatBytes(plan.disk_bytes), " of disk, ",
                   folder.string(), " has ", FormatBytes(free),
                   " free: make room, give --out on another disk, or train a part (--shard)"));
}

}  // namespace lra
