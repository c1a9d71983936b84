#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/flags.h"
#include "eval/compare_methods.h"
#include "lra/status_macros.h"
#include "run_folder/stopped_runs.h"

namespace lra {
namespace {

absl::Status Compare(const CompareRequest& request, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const MethodComparison comparison, CompareMethods(request));
  std::cout << (context.json ? WriteComparisonJson(comparison) : WriteComparison(comparison));
  return absl::OkStatus();
}

}  // namespace

void AddCompareCommand(CLI::App* app, CommandContext* context) {
  auto request = std::make_shared<CompareRequest>();
  request->add_stopped = AddStoppedRuns;
  CLI::App* command = AddCommand(
      app, "compare", "The difference of two rows, with interval, p and what could have been seen");
  AddOption(command, "a", &request->a, "A row as `lra table` names it, or a folder of its runs",
            {.is_required = true});
  AddOption(command, "b", &request->b, "The row to subtract", {.is_required = true});
  AddOption(command, "--runs", &request->runs, "Folders in which rows are looked for by name",
            {.shows_default = true});
  AddOption(command, "--task", &request->task,
            "Compare on this task (default: all that both have)");
  AddOption(command, "--margin", &request->margin,
            "Also say whether they are equal within this, in the metric's unit (points)");
  AddSwitch(command, "--paired", &request->is_paired,
            "Runs of one seed form pairs: if they were planned to share the order of the data");
  AddOption(command, "--split", &request->split, "Split", {.shows_default = true});
  AddOption(command, "--metric", &request->metric,
            "Metric, e.g. nats; a wrong name lists them (default: the task's)");
  AddOption(command, "--confidence", &request->confidence, "Of intervals and verdicts",
            {.shows_default = true});
  SetBody(command, context,
          "  lra compare cosformer transformer\n"
          "  lra compare cosformer transformer --runs runs/lra --task listops --margin 1",
          [request, context] { return Compare(*request, *context); });
}

}  // namespace lra
