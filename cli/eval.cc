#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "eval/statistics.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/runtime.h"
#include "nlohmann/json.hpp"
#include "train/checkpoint.h"
#include "train/evaluate.h"

namespace lra {
namespace {

absl::Status Evaluate(EvaluateRequest request, const CommandContext& context) {
  request.quiet = context.quiet;
  request.command_line = context.command_line;
  StartRuntime(request.threads);
  LRA_ASSIGN_OR_RETURN(request.data_dir, DataOfCheckpoint(request.checkpoint, request.data_dir));
  LRA_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateCheckpoint(request));
  const SplitResult& result = evaluation.record.results(0);
  if (context.json) {
    std::cout << nlohmann::json{{"split", result.split()},       {"correct", result.correct()},
                                {"examples", result.examples()}, {"loss_sum", result.loss_sum()},
                                {"step", result.step()},         {"record", evaluation.out_dir}}
                     .dump(2)
              << "\n";
    return absl::OkStatus();
  }
  const Interval interval = ClopperPearson(result.correct(), result.examples(), 0.95);
  std::cout << absl::StrFormat(
      "%s %s step %d: %.2f %% (%s of %s; 95 %% interval %.2f-%.2f, sampling only) -> %s\n",
      evaluation.record.method(), result.split(), result.step(),
      100.0 * result.correct() / result.examples(), FormatCount(result.correct()),
      FormatCount(result.examples()), 100 * interval.low, 100 * interval.high, evaluation.out_dir);
  return absl::OkStatus();
}

}  // namespace

void AddEvalCommand(CLI::App* app, CommandContext* context) {
  auto request = std::make_shared<EvaluateRequest>();
  CLI::App* command =
      app->add_subcommand("eval", "Score a checkpoint on a whole split and record it");
  command
      ->add_option(
          "checkpoint", request->checkpoint,
          "Run folder (its selected checkpoint), checkpoint folder, or a lone weights.safetensors")
      ->required();
  command->add_option("--data", request->data_dir,
                      "Prepared data (default: $LRA_DATA/TASK, ./data/TASK)");
  command
      ->add_option("--split", request->split, "Split; a look at test is logged in the run's record")
      ->capture_default_str();
  command->add_option(
      "--out", request->out_dir,
      "Folder for record and predictions (default: evaluations/SPLIT-step-N in the run's "
      "folder, or beside a lone file with its name in front); one that holds a run or another "
      "record is refused");
  command->add_option("--threads", request->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra eval runs/listops-linear-small-s0\n"
                 "  lra eval runs/listops-linear-small-s0/checkpoint/step-500 --split test --json\n"
                 "  lra eval weights.safetensors --data data/listops");
  command->callback(
      RunCommand(context, [request, context] { return Evaluate(*request, *context); }));
}

}  // namespace lra
