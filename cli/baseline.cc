#include "tasks/baseline.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "cli/flags.h"
#include "eval/baseline_record.h"
#include "eval/data_identity.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "eval/score_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

struct BaselineFlags {
  BaselineRequest request;
  std::string out = "runs";
};

// What eval/ records of what tasks/ predicted.
BaselineRun RunOf(const BaselineResults& results, const BaselinePrediction& prediction,
                  const CommandContext& context) {
  BaselineRun run;
  run.name = prediction.name;
  run.description = prediction.description;
  run.data = IdentifyData(results.manifest, results.view);
  run.spec = results.spec;
  for (size_t i = 0; i < results.splits.size(); ++i)
    run.splits.push_back({results.splits[i], prediction.logits[i], results.labels[i]});
  run.command_line = context.command_line;
  run.unix_seconds = UnixSeconds();
  return run;
}

std::string Describe(const Metric& metric, const RunRecord& record, const SplitResult& result,
                     const std::string& folder) {
  return absl::StrFormat("%s %-16s %6s %s of %s %s examples -> %s", record.config().task(),
                         record.method(), metric.Number(metric.Value(result.sums())),
                         metric.traits().unit, FormatCount(result.examples()), result.split(),
                         folder);
}

nlohmann::ordered_json ToJsonResult(const Metric& metric, const RunRecord& record,
                                    const SplitResult& result, const std::string& folder) {
  nlohmann::ordered_json json = {
      {"run", folder}, {"baseline", record.method()}, {"split", result.split()}};
  AddScore(metric, result, &json);
  return json;
}

absl::Status Baseline(const BaselineFlags& flags, const CommandContext& context) {
  BaselineRequest request = flags.request;
  request.options.quiet = context.quiet;
  LRA_ASSIGN_OR_RETURN(const BaselineResults results, PredictBaselines(request));
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const BaselinePrediction& prediction : results.predictions) {
    const std::string folder = BaselineDirectory(flags.out, request.task, prediction.name);
    LRA_ASSIGN_OR_RETURN(const RunRecord record,
                         WriteBaselineRecord(folder, RunOf(results, prediction, context)));
    const SplitResult& result = *FindResult(record, request.split);
    LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record.spec()));
    if (!context.json) std::cout << Describe(*metric, record, result, folder) << "\n";
    json.push_back(ToJsonResult(*metric, record, result, folder));
  }
  if (context.json) PrintJson(json);
  return absl::OkStatus();
}

}  // namespace

void AddBaselineCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<BaselineFlags>();
  BaselineRequest& request = flags->request;
  CLI::App* command = AddCommand(app, "baseline",
                                 "Record what needs no attention: the majority class, the task's "
                                 "own shortcut, a linear model");
  AddOption(command, "task", &request.task, "Task: `lra list tasks`", {.is_required = true});
  AddData(command, &request.data_dir);
  AddOption(command, "--out", &flags->out, "Folder of the run folders", {.shows_default = true});
  AddOption(command, "--split", &request.split,
            "Split to print; validation and test are recorded always", {.shows_default = true});
  AddViewFlags(command, &request.view);
  AddThreads(command, &request.options.threads);
  SetBody(command, context,
          "  lra baseline listops\n"
          "  lra baseline listops --data data/listops --split validation --json",
          [flags, context] { return Baseline(*flags, *context); });
}

}  // namespace lra
