#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "eval/compare_contrast.h"
#include "eval/compare_methods.h"
#include "lra/status_macros.h"
#include "run_folder/stopped_runs.h"

namespace lra {
namespace {

struct CompareFlags {
  CompareRequest request;
  std::vector<std::string> contrasts;
};

absl::Status Compare(const CompareFlags& flags, const CommandContext& context) {
  const CompareRequest& request = flags.request;
  if (!flags.contrasts.empty()) {
    if (!request.a.empty() || request.is_paired || request.margin)
      return absl::InvalidArgumentError(
          "--contrast names its rows and pairs their seeds; leave A, B, --paired and --margin out");
    LRA_ASSIGN_OR_RETURN(const ContrastAnalysis analysis,
                         AnalyseContrasts(request, flags.contrasts));
    std::cout << (context.json ? WriteContrastsJson(analysis) : WriteContrasts(analysis));
    return absl::OkStatus();
  }
  if (request.b.empty())
    return absl::InvalidArgumentError("name two rows, A and B, or give --contrast \"A - B\"");
  LRA_ASSIGN_OR_RETURN(const MethodComparison comparison, CompareMethods(request));
  std::cout << (context.json ? WriteComparisonJson(comparison) : WriteComparison(comparison));
  return absl::OkStatus();
}

}  // namespace

void AddCompareCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<CompareFlags>();
  CompareRequest* const request = &flags->request;
  request->add_stopped = AddStoppedRuns;
  CLI::App* command = AddCommand(
      app, "compare", "The difference of two rows, with interval, p and what could have been seen");
  AddOption(command, "A", &request->a, "A row as `lra table` names it, or a folder of its runs");
  AddOption(command, "B", &request->b, "The row to subtract");
  AddOption(
      command, "--contrast", &flags->contrasts,
      "In place of A and B: weighted rows, e.g. \"A - B - C + D\", on the seeds that trained in "
      "all; several are one family of tests");
  AddRunsOfRows(command, &request->runs);
  AddOption(command, "--task", &request->task, "Compare on this task (default: all that both have)",
            {.value = kTaskValue});
  AddOption(command, "--margin", &request->margin,
            "Also say whether they are equal within this, in the metric's unit (default: 1 for "
            "points; none for other units)");
  AddSwitch(command, "--paired", &request->is_paired,
            "Runs of one seed form pairs: if they were planned to share the order of the data");
  AddOption(command, "--split", &request->split, "Split",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--metric", &request->metric,
            "Metric, e.g. nats; a wrong name lists them (default: the task's)",
            {.value = kMetricValue});
  AddOption(command, "--confidence", &request->confidence, "Confidence of intervals and verdicts",
            {.shows_default = true});
  SetBody(command, context,
          "  lra compare cosformer transformer\n"
          "  lra compare cosformer transformer --runs runs/lra --task listops --margin 2\n"
          "  lra compare --contrast \"cosformer - linear\" --contrast \"cosformer - relu\"",
          [flags, context] { return Compare(*flags, *context); });
}

}  // namespace lra
