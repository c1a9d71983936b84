#include "tasks/baseline.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "cli/flags.h"
#include "datasets/manifest.h"
#include "eval/baseline_record.h"
#include "eval/data_identity.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "eval/score_text.h"
#include "eval/sequences.h"
#include "inspect/open_checkpoint.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

struct BaselineFlags {
  BaselineRequest request;
  std::string out = "runs", like;
};

// Takes over task, view, protocol and preset of the run that --like names.
absl::Status TakeOverRun(const BaselineFlags& flags, BaselineRequest* request) {
  if (flags.like.empty() && request->task.empty())
    return absl::InvalidArgumentError("give a task (`lra list tasks`), or --like RUN");
  if (flags.like.empty()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const RunRecord run, ReadRunRecord(flags.like));
  LRA_ASSIGN_OR_RETURN(request->exact_view, ViewOfRun(run, request->task));
  request->task = run.data().task();
  if (request->data_dir.empty()) request->data_dir = DataDirectoryOfRun(flags.like);
  request->view.protocol = run.config().protocol();
  request->view.preset = run.config().preset();
  request->check_data = [run](const Manifest& manifest, const DataView& view) {
    return CheckDataOfRun(run, manifest, view);
  };
  return absl::OkStatus();
}

BaselineBar BarOf(const BaselineFacts& facts) {
  BaselineBar bar;
  bar.set_name(facts.bar);
  bar.set_ignores(facts.ignores);
  bar.set_is_required(facts.is_required);
  bar.set_ladder(facts.ladder);
  return bar;
}

RowSplit SplitOf(const BaselineResults& results, const BaselinePrediction& prediction, size_t i) {
  RowSplit split = {.split = results.splits[i], .labels = results.labels[i]};
  if (prediction.token_scores.empty()) {
    split.logits = prediction.logits[i];
    return split;
  }
  const TokenScores& scores = prediction.token_scores[i];
  split.token_sums.emplace();
  split.token_sums->counts = {
      {kTargets, scores.targets}, {kTokens, scores.targets}, {kCorrect, scores.correct}};
  split.token_sums->totals = {{kNats, scores.nats}};
  // What the scores of models count, too (eval/evaluator.cc).
  const bool has_prompts = PromptPlace(results.manifest.extra_columns()) >= 0;
  if (has_prompts && !results.spec.hides_tokens()) CountSequences(&*split.token_sums);
  return split;
}

// What eval/ records of what tasks/ predicted.
BaselineRun RunOf(const BaselineResults& results, const BaselinePrediction& prediction,
                  const BaselineRequest& request, const CommandContext& context) {
  BaselineRun run;
  run.name = prediction.facts.name;
  run.description = prediction.facts.description;
  run.bar = BarOf(prediction.facts);
  run.view = results.view;
  run.protocol = request.view.protocol;
  run.preset = request.view.preset;
  run.data = IdentifyData(results.manifest, results.view);
  run.spec = results.spec;
  for (size_t i = 0; i < results.splits.size(); ++i)
    run.splits.push_back(SplitOf(results, prediction, i));
  run.command_line = context.command_line;
  run.unix_seconds = UnixSeconds();
  return run;
}

std::string Describe(const Metric& metric, const RunRecord& record, const SplitResult& result,
                     const std::string& folder) {
  return absl::StrCat(record.config().task(), " ", PadRight(record.method(), 16), " ",
                      PadLeft(metric.Number(metric.Value(result.sums())), 6), " ",
                      metric.traits().unit, " of ", FormatCount(result.examples()), " ",
                      result.split(), " examples -> ", folder);
}

nlohmann::ordered_json ToJsonResult(const Metric& metric, const RunRecord& record,
                                    const SplitResult& result, const std::string& folder) {
  nlohmann::ordered_json json = {{"run", folder},
                                 {"baseline", record.method()},
                                 {"bar", record.bar().name()},
                                 {"ignores", record.bar().ignores()},
                                 {"required_for_learned", record.bar().is_required()},
                                 {"split", result.split()}};
  AddScore(metric, result, &json);
  return json;
}

absl::Status Baseline(const BaselineFlags& flags, const CommandContext& context) {
  BaselineRequest request = flags.request;
  request.options.quiet = context.quiet;
  LRA_RETURN_IF_ERROR(TakeOverRun(flags, &request));
  LRA_ASSIGN_OR_RETURN(const BaselineResults results, PredictBaselines(request));
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const BaselinePrediction& prediction : results.predictions) {
    const BaselineRun run = RunOf(results, prediction, request, context);
    const std::string folder = BaselineDirectory(flags.out, run);
    LRA_ASSIGN_OR_RETURN(const RunRecord record, WriteBaselineRecord(folder, run));
    const SplitResult& result = *FindResult(record, request.split);
    LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record.spec()));
    if (!context.json) std::cout << Describe(*metric, record, result, folder) << "\n";
    json.push_back(ToJsonResult(*metric, record, result, folder));
  }
  if (context.json) PrintJson(json);
  if (!results.left_out.empty() && !context.quiet) {
    std::cerr << "left out, because they take minutes: " << absl::StrJoin(results.left_out, ", ")
              << " (--all runs them, too)\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddBaselineCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<BaselineFlags>();
  BaselineRequest& request = flags->request;
  CLI::App* command = AddCommand(app, "baseline",
                                 "Record what needs no attention: the majority class and the "
                                 "task's other baselines, the bars for runs");
  AddOption(
      command, "task", &request.task,
      "Task: `lra list tasks`, and its baselines: `lra list tasks NAME`; may be left out with "
      "--like",
      {.value = kTaskValue});
  AddSwitch(command, "--all", &request.options.all, "Also the baselines that take minutes");
  AddOption(
      command, "--like", &flags->like,
      "Run folder: data, view, protocol and preset are that run's, so that the baselines land "
      "in its table",
      {.value = kRunValue});
  AddData(command, &request.data_dir);
  AddOption(command, "--out", &flags->out, "Folder of the run folders",
            {.shows_default = true, .value = kFolderValue});
  AddOption(command, "--split", &request.split,
            "Split to print; validation and test are recorded always",
            {.shows_default = true, .value = kSplitValue});
  AddViewFlags(command, &request.view);
  AddThreads(command, &request.options.threads);
  SetBody(command, context,
          "  lra baseline listops\n"
          "  lra baseline --all text --set max_length_tokens=1000\n"
          "  lra baseline --all --like runs/text-linear-small-s0\n"
          "  lra baseline listops --data data/listops --split validation --json",
          [flags, context] { return Baseline(*flags, *context); });
}

}  // namespace lra
