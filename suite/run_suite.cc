#include "suite/run_suite.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/machine.h"
#include "lra/parallel.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "suite/pool.h"  // TrainCommand

namespace lra {
namespace {

std::vector<std::string> MeasureCommand(const SuiteCell& cell, const std::string& folder,
                                        int worker, const SuiteRunOptions& options) {
  std::vector<std::string> words =
      TrainCommand(options.program, folder, cell, options.threads, FlagsOfWorker(options, worker));
  words.insert(words.end(), {"--dry-run", "--json"});
  return words;
}

// One run of each cell that is left and that no finished run tells the time of.
std::vector<SuiteCell> ToMeasure(const std::vector<SuiteCell>& cells, const SuitePlan& plan) {
  std::set<std::string> names;
  std::vector<SuiteCell> chosen;
  for (size_t i = 0; i < cells.size(); ++i) {
    const RunPlan& run = plan.runs[i];
    if (run.is_left && !run.cost && names.insert(CellName(cells[i])).second)
      chosen.push_back(cells[i]);
  }
  return chosen;
}

// Those whose task can be measured; notes why the others cannot.
std::vector<SuiteCell> Measurable(const std::vector<SuiteCell>& cells,
                                  const SuiteRunOptions& options,
                                  std::map<std::string, std::string>* failures) {
  std::vector<SuiteCell> chosen;
  for (const SuiteCell& cell : cells) {
    const auto why = options.not_measured.find(cell.config.task());
    if (why == options.not_measured.end())
      chosen.push_back(cell);
    else
      (*failures)[CellName(cell)] = why->second;
  }
  return chosen;
}

PlanOptions PlanningOf(const SuiteRunOptions& options, int workers) {
  return {.workers = workers,
          .at_once = options.at_once,
          .retries_failed = options.retries_failed,
          .device = DeviceKind(options)};
}

std::string MemoryText(const SuitePlan& plan, int64_t available) {
  const bool is_one = plan.runs_at_once == 1;
  return absl::StrCat(plan.runs_at_once, is_one ? " run takes " : " runs at once take ",
                      FormatBytes(plan.memory_bytes), " of memory, ", FormatBytes(available),
                      is_one ? " is" : " are", " available");
}

// Whether the plan takes seeds side by side for as long and large as those measured alone.
bool GuessesSideBySide(const SuitePlan& plan) {
  return plan.at_once > 1 &&
         std::any_of(plan.runs.begin(), plan.runs.end(), [](const RunPlan& run) {
           return run.is_left && run.cost && run.cost->finished_runs == 0;
         });
}

absl::Status CheckMemory(const SuitePlan& plan, int fit, int64_t available) {
  if (fit >= plan.workers) return absl::OkStatus();
  const char* const no_fit = plan.at_once > 1 ? "as many seeds fit on no worker: lower --at-once"
                                              : "the largest fits on no worker";
  return absl::ResourceExhaustedError(
      absl::StrCat(MemoryText(plan, available), ": ",
                   fit > 0 ? absl::StrCat("--workers ", fit, " fits") : no_fit));
}

// The value behind a flag; the end where there is none.
template <class Flags>
auto ValueIn(Flags& flags, const char* flag) {
  const auto found = std::find(flags.begin(), flags.end(), flag);
  return found == flags.end() ? found : found + 1;
}

}  // namespace

std::string ValueOfFlag(const SuiteRunOptions& options, const char* flag) {
  const auto value = ValueIn(options.train_flags, flag);
  return value == options.train_flags.end() ? "" : *value;
}

std::string DeviceOf(const SuiteRunOptions& options) {
  const std::string device = ValueOfFlag(options, "--device");
  return device.empty() ? "cpu" : device;
}

std::string DeviceKind(const SuiteRunOptions& options) {
  const std::string device = DeviceOf(options);
  return device.substr(0, device.find(':'));
}

int64_t PlaceOfWorker(const SuiteRunOptions& options, int worker) {
  return int64_t{options.part} * std::max(1, options.workers) + worker;
}

std::vector<std::string> FlagsOfWorker(const SuiteRunOptions& options, int worker) {
  std::vector<std::string> flags = options.train_flags;
  const auto device = ValueIn(flags, "--device");
  if (options.device_of_worker && device != flags.end())
    *device = options.device_of_worker(*device, PlaceOfWorker(options, worker));
  return flags;
}

absl::StatusOr<PlannedSuite> PlanSuite(const std::vector<SuiteCell>& cells,
                                       const SuiteRunOptions& options) {
  const int workers =
      options.workers > 0 ? options.workers : std::max(1, AvailableCores() / options.threads);
  const std::vector<CellStatus> statuses = ReadStatuses(options.out, cells);
  const auto plan_with = [&](const EstimateOfCell& estimates, int count) {
    return MakePlan(options.out, cells, statuses, estimates, PlanningOf(options, count));
  };
  const std::vector<SuiteCell> unknown =
      options.measures ? ToMeasure(cells, plan_with({}, workers)) : std::vector<SuiteCell>();
  PlannedSuite planned;
  LRA_ASSIGN_OR_RETURN(
      MeasuredCells measured,
      MeasureCells(Measurable(unknown, options, &planned.failures),
                   {.out = options.out,
                    .workers = workers,
                    .threads = options.threads,
                    .pinning = options.pinning,
                    .deadline = options.deadline,
                    .is_quiet = options.is_quiet,
                    .device = DeviceKind(options),
                    .train_flags = options.train_flags,
                    .data_of_task = options.data_of_task,
                    .command = [&](const SuiteCell& cell, const std::string& folder, int worker) {
                      return MeasureCommand(cell, folder, worker, options);
                    }}));
  if (StopWasAsked()) return absl::CancelledError("stopped before a run began");
  EstimateOfCell estimates = ReadEstimates(options.out, cells);
  for (const SuiteCell& cell : unknown) estimates.erase(CellName(cell));
  // Nobody measured them anew. An earlier build noted no device.
  std::erase_if(estimates, [&](const auto& one) {
    return !one.second.device().empty() && one.second.device() != DeviceKind(options);
  });
  estimates.merge(measured.estimates);
  SuitePlan plan = plan_with(estimates, workers);
  if (GuessesSideBySide(plan) && !options.is_quiet) {
    std::cerr << "note: seeds side by side (--at-once " << options.at_once
              << ") were not measured: where none of a cell has finished, the plan gives each the "
                 "time and memory of one alone\n";
  }
  const int64_t available = AvailableMemoryBytes();
  const int fit = WorkersThatFit(plan, available);
  if (options.workers == 0 && fit > 0 && fit < workers) {
    if (!options.is_quiet)
      std::cerr << "note: " << MemoryText(plan, available) << ": " << fit << " at once\n";
    plan = plan_with(estimates, fit);
  } else {
    planned.fits_memory = CheckMemory(plan, fit, available);
  }
  planned.fits_disk = CheckDisk(plan, options.out);
  planned.cells = CheapestFirst(cells, plan);
  planned.plan = MakePlan(options.out, planned.cells, ReadStatuses(options.out, planned.cells),
                          estimates, PlanningOf(options, plan.workers));
  planned.failures.merge(measured.failures);
  return planned;
}

}  // namespace lra
