// lra run | status
#include <csignal>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/child.h"
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

absl::Status Print(const std::string& out, const std::vector<SuiteCell>& cells, int workers,
                   const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::vector<CellStatus> statuses, ReadStatuses(out, cells));
  if (context.json) {
    std::cout << StatusJson(cells, statuses) << std::flush;
  } else {
    std::cout << StatusText(cells, statuses) << SummaryText(cells, statuses, workers) << std::endl;
  }
  return absl::OkStatus();
}

// An error where a run is left, failed or diverged, so that scripts need not read the text.
absl::Status JudgeSuite(const std::string& out, const std::vector<SuiteCell>& cells, int workers) {
  LRA_ASSIGN_OR_RETURN(const std::vector<CellStatus> statuses, ReadStatuses(out, cells));
  for (const CellStatus& status : statuses) {
    if (status.state == CellState::kFinished) continue;
    return absl::AbortedError(absl::StrCat(SummaryText(cells, statuses, workers),
                                           "; the same command goes on with what is left"));
  }
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
  if (flags.is_dry) return Print(options.out, cells, options.workers, context);
  LRA_RETURN_IF_ERROR(CheckData(cells));
  LRA_RETURN_IF_ERROR(ClaimSuiteFolder(options.out, suite));
  options.retries_failed = flags.retries_failed;
  options.is_quiet = context.quiet;
  const std::string program = ThisProgram();
  options.command = [&](const SuiteCell& cell) {
    return TrainCommand(program, options.out, cell, options.threads);
  };
  StopSuiteAtSignals();
  LRA_RETURN_IF_ERROR(RunCells(cells, options));
  LRA_RETURN_IF_ERROR(Print(options.out, cells, options.workers, context));
  return JudgeSuite(options.out, cells, options.workers);
}

absl::Status PrintStatus(const std::string& folder, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, SuiteOfFolder(folder));
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(suite));
  return Print(folder, cells, AvailableCores(), context);
}

}  // namespace

void AddRunCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = AddCommand(app, "run", "Train the runs of a suite, several at once");
  AddOption(command, "suite", &flags->suite,
            "A suite (configs/suites), or the path of a file like these", {.is_required = true});
  AddOption(command, "--out", &flags->out, "Folder of the run folders (default: runs/SUITE)");
  AddSwitch(command, "--dry-run", &flags->is_dry, "Only show the runs and how far they are");
  AddOption(command, "--workers", &flags->workers,
            "Runs at once (default: as many as cores for their threads)",
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--threads", &flags->threads,
            "Threads, and where there are enough cores, of each run",
            {.shows_default = true, .allowed = FlagRules::kPositive});
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
