#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "eval/run_record.h"
#include "lra/status_macros.h"
#include "run_folder/run_list.h"
#include "suite/suite_runs.h"

namespace lra {
namespace {

absl::Status PrintRuns(const std::vector<std::string>& paths, const CommandContext& context) {
  std::vector<std::string> damaged;
  LRA_ASSIGN_OR_RETURN(const std::vector<ListedRun> runs, ListRunsAndSuites(paths, &damaged));
  std::cout << (context.json ? RunListJson(runs) : RunListText(runs)) << std::flush;
  return DamagedRecords(damaged, "the list");
}

}  // namespace

void AddRunsCommand(CLI::App* app, CommandContext* context) {
  auto paths = std::make_shared<std::vector<std::string>>(1, "runs");
  CLI::App* command = AddCommand(
      app, "runs",
      "List runs, also those of suites that wait or failed: how far they are, and their scores");
  AddOption(command, "folders", paths.get(), "Run folders, or folders that hold some",
            {.shows_default = true});
  SetBody(command, context, "  lra runs\n  lra runs runs/listops-linear-small-s0 old --json",
          [paths, context] { return PrintRuns(*paths, *context); });
}

}  // namespace lra
