#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "eval/score_text.h"
#include "inspect/evaluate.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "run_folder/checkpoint.h"

namespace lra {
namespace {

absl::Status Evaluate(EvaluateRequest request, const CommandContext& context) {
  request.quiet = context.quiet;
  request.command_line = context.command_line;
  LRA_RETURN_IF_ERROR(StartComputing(request.threads, context));
  LRA_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateCheckpoint(request));
  const SplitResult& result = evaluation.record.results(0);
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(evaluation.record.spec()));
  const ScoredRun run = {evaluation.out_dir, evaluation.record.data().task()};
  if (context.json) {
    nlohmann::json json = {
        {"split", result.split()}, {"step", result.step()}, {"record", evaluation.out_dir}};
    LRA_RETURN_IF_ERROR(AddScoreWithInterval(*metric, result, run, 0.95, &json));
    std::cout << JsonText(json) << "\n";
    return absl::OkStatus();
  }
  LRA_ASSIGN_OR_RETURN(const std::string score,
                       DescribeScoreWithInterval(*metric, result, run, 0.95));
  std::cout << absl::StrFormat("%s %s step %d: %s -> %s\n", evaluation.record.method(),
                               result.split(), result.step(), score, evaluation.out_dir);
  return absl::OkStatus();
}

}  // namespace

void AddEvalCommand(CLI::App* app, CommandContext* context) {
  auto request = std::make_shared<EvaluateRequest>();
  CLI::App* command = AddCommand(app, "eval", "Score a checkpoint on a whole split and record it");
  AddOption(
      command, "checkpoint", &request->checkpoint,
      "Run folder (its selected checkpoint or, while unfinished, its latest), checkpoint folder, "
      "or a lone weights.safetensors",
      {.is_required = true});
  AddDataOfRun(command, &request->data_dir, &request->allows_other_data);
  AddOption(command, "--split", &request->split,
            "Split; a look at test is logged in the run's record",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--max-length", &request->max_length_tokens,
            "Tokens that are read of an example, in place of the run's view.max_length_tokens: "
            "trained short, tested long; a model that is another one at that length, or has no "
            "weights for it, is refused (default: the run's)",
            {.allowed = FlagRules::kPositive, .value = "TOKENS"});
  AddOption(
      command, "--out", &request->out_dir,
      "Folder for record and predictions (default: evaluations/SPLIT-step-N in the run's "
      "folder, or beside a lone file with its name in front); one that holds a run or another "
      "record is refused",
      {.value = kFolderValue});
  AddHalfLogits(command, &request->half_logits);
  AddThreads(command, &request->threads);
  AddDevice(command, &request->device);
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra eval runs/listops-linear-small-s0\n"
          "  lra eval runs/listops-linear-small-s0/checkpoint/step-500 --split test --json\n"
          "  lra eval weights.safetensors --data data/listops\n"
          "  lra eval runs/listops-linear-small-s0 --data long --other-data --max-length 8000",
          [request, context] { return Evaluate(*request, *context); });
}

}  // namespace lra
