// lra run | status
#include <csignal>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "datasets/data_directory.h"
#include "datasets/manifest.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "suite/pool.h"
#include "suite/state.h"
#include "tasks/task.h"

namespace lra {
namespace {

struct RunFlags {
  std::string suite, out, budget, shard;
  int workers = 0, threads = 1;
  bool is_dry = false, retries_failed = false;
};

absl::StatusOr<double> BudgetSeconds(const std::string& text) {
  absl::Duration budget = absl::ZeroDuration();
  if (!text.empty() && (!absl::ParseDuration(text, &budget) || budget <= absl::ZeroDuration())) {
    return absl::InvalidArgumentError(
        absl::StrCat("--budget \"", text, "\" is no time; write 2h, 90m or 1h30m"));
  }
  return absl::ToDoubleSeconds(budget);
}

absl::Status CheckData(const std::vector<SuiteCell>& cells) {
  std::set<std::string> tasks;
  for (const SuiteCell& cell : cells) tasks.insert(cell.config.task());
  for (const std::string& task : tasks) {
    const std::string directory = DefaultDataDirectory(task);
    LRA_RETURN_IF_ERROR(ReadManifest(directory).status());
    LRA_RETURN_IF_ERROR(CheckDataOfTask(directory, task));
  }
  return absl::OkStatus();
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

void Print(const std::string& out, const std::vector<SuiteCell>& cells, int workers,
           const CommandContext& context) {
  const std::vector<CellStatus> statuses = ReadStatuses(out, cells);
  if (context.json) {
    std::cout << StatusJson(cells, statuses) << std::flush;
  } else {
    std::cout << StatusText(cells, statuses) << SummaryText(cells, statuses, workers) << std::endl;
  }
}

// An error where a run has no result, so that scripts need not read the text; it says what to do.
absl::Status JudgeSuite(const std::string& out, const std::vector<SuiteCell>& cells) {
  bool is_left = false, has_failed = false, has_diverged = false;
  for (const CellStatus& status : ReadStatuses(out, cells)) {
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

absl::Status RunSuite(const RunFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, LoadSuite(flags.suite));
  LRA_ASSIGN_OR_RETURN(std::vector<SuiteCell> cells, ExpandSuite(suite));
  if (!flags.shard.empty()) {
    LRA_ASSIGN_OR_RETURN(cells, ShardOf(cells, flags.shard));
  }
  PoolOptions options;
  options.out = flags.out.empty() ? JoinPath("runs", SuiteName(flags.suite)) : flags.out;
  options.threads = flags.threads;
  options.workers =
      flags.workers > 0 ? flags.workers : std::max(1, AvailableCores() / flags.threads);
  LRA_ASSIGN_OR_RETURN(options.budget_seconds, BudgetSeconds(flags.budget));
  if (flags.is_dry) {
    Print(options.out, cells, options.workers, context);
    return absl::OkStatus();
  }
  LRA_RETURN_IF_ERROR(CheckData(cells));
  LRA_RETURN_IF_ERROR(ClaimSuiteFolder(options.out, suite));
  options.retries_failed = flags.retries_failed;
  options.is_quiet = context.quiet;
  options.command = [&](const SuiteCell& cell) {
    return TrainCommand("/proc/self/exe", options.out, cell, options.threads);
  };
  StopSuiteAtSignals();
  LRA_RETURN_IF_ERROR(RunCells(cells, options));
  Print(options.out, cells, options.workers, context);
  return JudgeSuite(options.out, cells);
}

absl::Status PrintStatus(const std::string& folder, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, SuiteOfFolder(folder));
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(suite));
  Print(folder, cells, /*workers=*/0, context);
  return absl::OkStatus();
}

}  // namespace

void AddRunCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = AddCommand(app, "run", "Train the runs of a suite, several at once");
  AddOption(command, "suite", &flags->suite,
            "A suite (configs/suites), or the path of a file like these", {.is_required = true});
  AddOption(command, "--out", &flags->out, "Folder of the run folders (default: runs/SUITE)");
  AddSwitch(command, "--dry-run", &flags->is_dry, "Only show the runs and how far they are");
  AddOption(
      command, "--workers", &flags->workers,
      "Runs at once (default: as many as there are cores for their threads)",
      {.allowed = FlagRules::kRange, .least = 1, .largest = static_cast<double>(MaxThreads())});
  AddOption(command, "--threads", &flags->threads, "Threads of each run",
            {.shows_default = true,
             .allowed = FlagRules::kRange,
             .least = 1,
             .largest = static_cast<double>(MaxThreads())});
  AddOption(command, "--budget", &flags->budget,
            "Time after which runs are saved and stopped, e.g. 2h or 90m");
  AddOption(command, "--shard", &flags->shard, "Only part k of n of the runs (k/n, k from 0)");
  AddSwitch(command, "--retry-failed", &flags->retries_failed,
            "Train again what ended without a record");
  SetBody(command, context,
          "  lra run listops_smoke --dry-run\n"
          "  lra run listops_smoke --budget 2h\n"
          "  lra table runs/listops_smoke",
          [flags, context] { return RunSuite(*flags, *context); });
}

void AddStatusCommand(CLI::App* app, CommandContext* context) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = AddCommand(app, "status", "How far the runs of a suite are");
  AddOption(command, "folder", folder.get(), "What `lra run` wrote, e.g. runs/SUITE",
            {.is_required = true});
  SetBody(command, context, "  lra status runs/listops_smoke",
          [folder, context] { return PrintStatus(*folder, *context); });
}

}  // namespace lra
