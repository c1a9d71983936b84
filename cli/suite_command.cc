#include "cli/suite_command.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/flags.h"
#include "datasets/data_directory.h"
#include "datasets/manifest.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "models/nominal_cost.h"
#include "suite/plan.h"
#include "suite/rules_copy.h"
#include "suite/state.h"
#include "tasks/task.h"
#include "tasks/task_facts.h"
#include "train/request.h"

namespace lra {
namespace {

absl::StatusOr<Deadline> DeadlineOf(const std::string& text) {
  if (text.empty()) return Deadline();
  absl::Duration budget = absl::ZeroDuration();
  if (!absl::ParseDuration(text, &budget) || budget <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--budget \"", text, "\" is no time; write 2h, 90m or 1h30m"));
  }
  return Deadline(std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(budget));
}

std::set<std::string> TasksOf(const std::vector<SuiteCell>& cells) {
  std::set<std::string> tasks;
  for (const SuiteCell& cell : cells) tasks.insert(cell.config.task());
  return tasks;
}

absl::Status CheckData(const std::vector<SuiteCell>& cells) {
  for (const std::string& task : TasksOf(cells)) {
    const std::string directory = DefaultDataDirectory(task);
    LRA_RETURN_IF_ERROR(ReadManifest(directory).status());
    LRA_RETURN_IF_ERROR(CheckDataOfTask(directory, task));
  }
  return absl::OkStatus();
}

// The longest sequence that the view leaves, or the task allows.
absl::StatusOr<int64_t> LongestTokens(const ExperimentConfig& config) {
  if (!config.view().has_pixels() && config.view().max_length_tokens() > 0)
    return config.view().max_length_tokens();
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ManifestWithoutData(config.task()));
  const int64_t side = manifest.spec().image_side_pixels();
  return side > 0 ? side * side : manifest.spec().max_length_tokens();
}

absl::StatusOr<std::vector<SuiteCell>> PartOf(const std::vector<SuiteCell>& cells,
                                              const std::string& shard) {
  if (shard.empty()) return cells;
  std::vector<double> costs;
  for (const SuiteCell& cell : cells) {
    LRA_ASSIGN_OR_RETURN(const int64_t tokens, LongestTokens(cell.config));
    LRA_ASSIGN_OR_RETURN(const double cost, NominalOperations(cell.config, tokens));
    costs.push_back(cost);
  }
  return ShardOf(cells, costs, shard);
}

// SIGINT and SIGTERM save and stop; a second one ends the program, and with it its workers.
void StopSuiteAtSignals() {
  for (const int number : {SIGINT, SIGTERM}) {
    std::signal(number, [](int received) {
      StopSuite();
      std::signal(received, SIG_DFL);
    });
  }
}

void PrintPlan(const PlannedSuite& planned, const CommandContext& context) {
  if (context.json) {
    std::cout << PlanJson(planned.cells, planned.plan) << std::flush;
    return;
  }
  std::cout << PlanText(planned.cells, planned.plan);
  for (const auto& [cell, why] : planned.failures)
    std::cout << cell << " could not be measured: " << why << "\n";
  std::cout << std::flush;
}

void PrintStatuses(const std::vector<SuiteCell>& cells, const std::vector<CellStatus>& statuses,
                   const CommandContext& context) {
  if (context.json) {
    std::cout << StatusJson(cells, statuses) << std::flush;
  } else {
    std::cout << StatusText(cells, statuses) << SummaryText(statuses) << std::endl;
  }
}

// An error where a run has no result, so that scripts need not read the text; it says what to do.
absl::Status JudgeSuite(const std::string& out, const std::vector<CellStatus>& statuses) {
  bool is_left = false, has_failed = false, has_diverged = false;
  for (const CellStatus& status : statuses) {
    is_left |= IsLeft(status, false) || status.state == CellState::kRunning;
    has_failed |= status.state == CellState::kFailed;
    has_diverged |= status.state == CellState::kDiverged;
  }
  if (is_left) return absl::AbortedError("runs are left: the same command goes on with them");
  if (has_failed) {
    return absl::AbortedError(absl::StrCat("runs failed: what they wrote is in ",
                                           JoinPath(out, "logs"), "; --retry-failed tries again"));
  }
  if (has_diverged)
    return absl::AbortedError("runs diverged: they have records of it, which tables count");
  return absl::OkStatus();
}

}  // namespace

void AddSuiteFlags(CLI::App* command, SuiteFlags* flags) {
  AddOption(
      command, "--workers", &flags->workers,
      "Runs at once (default: as many as there are cores for their threads and memory for all)",
      {.allowed = FlagRules::kRange, .least = 1, .largest = static_cast<double>(MaxThreads())});
  AddOption(command, "--budget", &flags->budget,
            "Time after which runs are saved and stopped, e.g. 2h or 90m");
  AddOption(command, "--shard", &flags->shard, "Only part k of n of the runs (k/n, k from 0)");
  AddSwitch(command, "--retry-failed", &flags->retries_failed,
            "Train again what ended without a record");
}

absl::Status RunSuiteFile(const SuiteFile& suite, const SuiteFlags& flags, SuiteRunOptions options,
                          const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(options.deadline, DeadlineOf(flags.budget));
  LRA_ASSIGN_OR_RETURN(std::vector<SuiteCell> cells, ExpandSuite(suite));
  LRA_ASSIGN_OR_RETURN(cells, PartOf(cells, flags.shard));
  options.workers = flags.workers;
  options.retries_failed = flags.retries_failed;
  options.is_quiet = context.quiet;
  if (!flags.is_dry) {
    LRA_RETURN_IF_ERROR(CheckData(cells));
    LRA_RETURN_IF_ERROR(ClaimSuiteFolder(options.out, suite));
  }
  for (const std::string& task : TasksOf(cells))
    options.data_of_task[task] = DataDigest(DefaultDataDirectory(task));
  StopSuiteAtSignals();
  LRA_ASSIGN_OR_RETURN(const std::string rules, CopyRules(options.out));
  setenv("LRA_CONFIGS", rules.c_str(), 1);  // for the workers
  LRA_ASSIGN_OR_RETURN(const PlannedSuite planned, PlanSuite(cells, options));
  if (flags.is_dry) {
    PrintPlan(planned, context);
    return planned.fits;
  }
  LRA_RETURN_IF_ERROR(planned.fits);
  if (!context.quiet) std::cerr << TotalText(planned.plan) << "\n";
  LRA_RETURN_IF_ERROR(TrainSuite(planned, options));
  const std::vector<CellStatus> statuses = ReadStatuses(options.out, cells);
  PrintStatuses(cells, statuses, context);
  return JudgeSuite(options.out, statuses);
}

std::string SuiteFolder(const std::string& name_or_folder) {
  const std::string of_name = JoinPath("runs", name_or_folder);
  const bool is_name = !FileExists(name_or_folder) && FileExists(of_name);
  return is_name ? of_name : name_or_folder;
}

}  // namespace lra
