#include "train/pretrain.h"

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/loader.h"
#include "datasets/token_entropy.h"
#include "eval/pretrain_text.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/pretrain_budget.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/token_model.h"
#include "train/estimate.h"
#include "train/loop.h"
#include "train/shared_run.h"
#include "train/token_objective.h"

namespace lra {
namespace {

// The entropies of the training split, which a resumed stage has already.
void AddEntropies(const Run& run, PretrainResult* result) {
  if (result->entropy_examples() > 0) return;
  const TokenEntropy entropy =
      MeasureTokenEntropy(run.train, ResolveThreads(run.request.runtime.threads()));
  result->set_unigram_nats(entropy.unigram_nats);
  result->set_bigram_nats(entropy.bigram_nats);
  result->set_entropy_examples(entropy.examples);
}

PretrainResult ResultOf(const Run& run, const CheckpointState& state) {
  PretrainResult result = state.pretrain();
  result.set_steps(state.step());
  result.set_examples(CountExamples(
      run.train,
      MakeLoaderOptions(run.config().train(), run.config().seed(), RandomDomain::kPretrainOrder),
      state.step()));
  for (const CurvePoint& point : state.curve()) result.set_tokens(result.tokens() + point.tokens());
  result.set_first_loss(state.curve(0).train_loss());
  const CurvePoint& last = state.curve(state.curve_size() - 1);
  result.set_last_loss(last.train_loss());
  *result.mutable_validation() = last.validation();
  result.set_validation_nats(last.validation_loss());
  result.set_seconds(state.efficiency().wall_seconds());
  if (state.efficiency().has_joules()) result.set_joules(state.efficiency().joules());
  if (state.efficiency().has_cpu_seconds())
    result.set_cpu_seconds(state.efficiency().cpu_seconds());
  return result;
}

void PrintBegin(const Run& run, const PretrainResult& result) {
  if (run.request.runtime.quiet()) return;
  const ExperimentConfig& config = run.config();
  std::cerr << "pretraining: " << FormatCount(config.pretrain().examples()) << " examples in "
            << FormatCount(PretrainSteps(config)) << " steps; entropy of the training tokens ("
            << FormatCount(result.entropy_examples()) << " of " << FormatCount(run.train.size())
            << " examples): " << DescribeEntropies(result) << "\n";
}

std::string DescribeEnd(const PretrainResult& result) {
  return absl::StrCat("after ", FormatCount(result.examples()), " examples: validation ",
                      result.validation().empty() ? "not known (sequences of one token)"
                                                  : DescribeNats(result.validation_nats()),
                      "; ", DescribeEntropies(result));
}

// What to type to go on with twice the examples.
std::string LargerBudget(const PretrainConfig& pretrain) {
  std::string before = absl::StrJoin(pretrain.continued_from_examples(), ",");
  absl::StrAppend(&before, before.empty() ? "" : ",", pretrain.examples());
  return absl::StrCat("--set pretrain.examples=", 2 * int64_t{pretrain.examples()},
                      " --set pretrain.continued_from_examples=", before);
}

// FailedPrecondition if labels must not begin yet (pretrain.until).
absl::Status CheckGoal(const Run& run, const PretrainResult& result) {
  const PretrainConfig& pretrain = run.config().pretrain();
  if (pretrain.until() == PretrainConfig::NOTHING) return absl::OkStatus();
  if (!result.validation().empty() && result.validation_nats() < GoalNats(pretrain.until(), result))
    return absl::OkStatus();
  const std::string& out = run.request.runtime.out_dir();
  return absl::FailedPreconditionError(absl::StrCat(
      "pretraining has not come below what pretrain.until=",
      PretrainConfig::Until_Name(pretrain.until()), " asks for, so training with labels does not ",
      "begin: ", DescribeEnd(result), ". All is kept in ", JoinPath(out, kPretrainFolder),
      "; the same command with --resume --out ", out, " goes on with a larger budget (",
      LargerBudget(pretrain), ") or with labels (--set pretrain.until=NOTHING)"));
}

}  // namespace

OptimizerConfig PretrainOptimizer(OptimizerConfig optimizer) {
  optimizer.set_layer_rate_decay(1);
  optimizer.set_average_decay(0);
  return optimizer;
}

absl::Status Pretrain(Run* run) {
  const RuntimeConfig& runtime = run->request.runtime;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<TokenObjective> objective,
                       TokenObjective::Create(*run));
  Optimizer optimizer(PretrainOptimizer(run->config().optimizer()), objective->parameters());
  CheckpointState state = run->state;  // the state of a run that has not begun
  Stage stage = {objective.get(), JoinPath(runtime.out_dir(), kPretrainFolder), &optimizer, &state};
  const absl::Status restored =
      run->writes() ? RestoreLatest(stage.directory, run->request, objective->parameters(),
                                    &optimizer, &state, /*is_pretraining=*/true)
                    : absl::OkStatus();
  LRA_RETURN_IF_ERROR(run->ranks->Agree(restored));
  LRA_RETURN_IF_ERROR(ShareStart(run->ranks.get(), objective->parameters(), &optimizer, &state));
  AddEntropies(*run, state.mutable_pretrain());
  if (state.step() < objective->steps()) {
    PrintBegin(*run, state.pretrain());
    LRA_RETURN_IF_ERROR(PlanStage(*run, &stage));
  }
  if (run->writes()) LRA_RETURN_IF_ERROR(MakeDirectories(stage.directory));
  LRA_RETURN_IF_ERROR(TrainStage(*run, stage));
  const PretrainResult result = ResultOf(*run, state);
  LRA_RETURN_IF_ERROR(CheckGoal(*run, result));
  if (!runtime.quiet()) std::cerr << "pretraining ended " << DescribeEnd(result) << "\n";
  CopySharedParameters(objective->parameters(), run->model->parameters());
  run->optimizer->BeginAverage();
  *run->state.mutable_pretrain() = result;
  return absl::OkStatus();
}

}  // namespace lra
