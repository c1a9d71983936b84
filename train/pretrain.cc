#include "train/pretrain.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "datasets/loader.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/token_model.h"
#include "models/torch_status.h"
#include "train/checkpoint.h"
#include "train/curve.h"
#include "train/divergence.h"
#include "train/micro_batch.h"
#include "train/token_targets.h"
#include "train/trainer.h"

namespace lra {
namespace {

using Clock = std::chrono::steady_clock;

struct TokenStep {
  double loss_sum = 0;
  int64_t guesses = 0;
  int64_t correct = 0;
  int64_t tokens = 0;
  double gradient_norm = 0;
};

Schedule StageSchedule(const ExperimentConfig& config) {
  ScheduleConfig schedule = config.schedule();
  schedule.set_learning_rate(config.pretrain().learning_rate());
  return Schedule(schedule, config.optimizer(), config.pretrain().steps());
}

class Pretrainer {
 public:
  Pretrainer(Run* run, std::unique_ptr<TokenModel> model)
      : run_(*run),
        config_(run->config()),
        directory_(JoinPath(run->request.runtime.out_dir(), kPretrainFolder)),
        model_(std::move(model)),
        optimizer_(config_.optimizer(), model_->parameters()),
        schedule_(StageSchedule(config_)) {
    *state_.mutable_config() = config_;
    *state_.mutable_spec() = run->state.spec();
    *state_.mutable_data() = run->state.data();
    state_.set_best_step(-1);
  }

  // Goes on from the stage's own latest checkpoint, if there is one.
  absl::Status Restore();
  absl::Status Train();
  PretrainResult Result() const;
  const ParameterStore& parameters() const { return model_->parameters(); }

 private:
  absl::StatusOr<TokenStep> Step(const HostBatch& batch);
  void AddPart(const HostBatch& part, const TokenTargets& targets, int64_t guesses,
               TokenStep* result) const;
  absl::Status CheckFinite(const HostBatch& batch, const TokenStep& result) const;
  void Count(const TokenStep& result, const TrainLoader& loader);
  absl::Status AfterStep();
  absl::Status Save();
  bool IsDue(int64_t every) const {
    return state_.step() % every == 0 || state_.step() == config_.pretrain().steps();
  }

  Run& run_;
  const ExperimentConfig& config_;
  const std::string directory_;
  std::unique_ptr<TokenModel> model_;
  Optimizer optimizer_;
  Schedule schedule_;
  CheckpointState state_;
  Clock::time_point resumed_at_ = Clock::now();
  double earlier_seconds_ = 0;
};

absl::Status Pretrainer::Restore() {
  LRA_RETURN_IF_ERROR(MakeDirectories(directory_));
  const absl::StatusOr<std::string> latest = LatestCheckpoint(directory_);
  if (absl::IsNotFound(latest.status())) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(latest.status());
  LRA_ASSIGN_OR_RETURN(CheckpointState state, LoadCheckpointState(*latest));
  LRA_RETURN_IF_ERROR(CheckSameRun(state_, state, directory_));
  LRA_RETURN_IF_ERROR(LoadWeights(*latest, state, model_->parameters()));
  LRA_RETURN_IF_ERROR(LoadOptimizer(*latest, state, &optimizer_));
  state_ = std::move(state);
  earlier_seconds_ = state_.efficiency().wall_seconds();
  // Parts change the order of sums: what the stage began with, unless other ones are asked for.
  if (run_.request.runtime.micro_batch_examples() == 0)
    run_.micro_batch_examples = state_.efficiency().micro_batch_examples();
  return absl::OkStatus();
}

void Pretrainer::AddPart(const HostBatch& part, const TokenTargets& targets, int64_t guesses,
                         TokenStep* result) const {
  const at::Tensor logits =
      model_->Forward(part, targets.hidden, targets.positions,
                      {.training = true, .step = static_cast<uint32_t>(state_.step())});  // [S, V]
  at::Tensor ids = at::empty({static_cast<int64_t>(targets.ids.size())}, at::kLong);
  std::copy(targets.ids.begin(), targets.ids.end(), ids.mutable_data_ptr<int64_t>());
  ids = ids.to(logits.device());
  const at::Tensor loss = at::cross_entropy_loss(logits, ids, {}, at::Reduction::Sum);
  loss.div(static_cast<double>(guesses)).backward();
  result->loss_sum += loss.item<double>();
  result->correct += logits.argmax(1).eq(ids).sum().item<int64_t>();
  result->tokens += std::accumulate(part.lengths.begin(), part.lengths.end(), int64_t{0});
}

absl::StatusOr<TokenStep> Pretrainer::Step(const HostBatch& batch) {
  TokenStep result;
  optimizer_.ZeroGradients();
  std::vector<HostBatch> parts =
      SplitBatch(batch, run_.micro_batch_examples, run_.model->depends_on_padding());
  std::vector<TokenTargets> targets;
  for (const HostBatch& part : parts) {
    targets.push_back(MakeTokenTargets(part, config_.pretrain(), config_.seed(),
                                       static_cast<uint32_t>(state_.step())));
    result.guesses += static_cast<int64_t>(targets.back().ids.size());
  }
  if (result.guesses == 0) {
    return absl::FailedPreconditionError(
        "pretrain: a batch whose examples have one token each leaves nothing to guess");
  }
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    for (size_t i = 0; i < parts.size(); ++i)
      AddPart(parts[i], targets[i], result.guesses, &result);
    if (std::isfinite(result.loss_sum))
      result.gradient_norm = optimizer_.Step(schedule_.At(state_.step(), 0));
    return absl::OkStatus();
  }));
  LRA_RETURN_IF_ERROR(CheckFinite(batch, result));
  return result;
}

absl::Status Pretrainer::CheckFinite(const HostBatch& batch, const TokenStep& result) const {
  if (std::isfinite(result.loss_sum) && std::isfinite(result.gradient_norm))
    return absl::OkStatus();
  return DivergedError(
      absl::StrCat("pretrain: loss or gradient is not finite at step ", state_.step(), " (loss ",
                   result.loss_sum / static_cast<double>(result.guesses), ", gradient norm ",
                   result.gradient_norm, ", train examples ", absl::StrJoin(batch.example_ids, " "),
                   "); nothing was updated. A lower pretrain.learning_rate usually helps"));
}

void Pretrainer::Count(const TokenStep& result, const TrainLoader& loader) {
  RunningSums& sums = *state_.mutable_sums();
  sums.set_steps(sums.steps() + 1);
  sums.set_examples(sums.examples() + result.guesses);
  sums.set_correct(sums.correct() + result.correct);
  sums.set_loss_sum(sums.loss_sum() + result.loss_sum);
  sums.set_gradient_norm_sum(sums.gradient_norm_sum() + result.gradient_norm);
  sums.set_max_gradient_norm(std::max(sums.max_gradient_norm(), result.gradient_norm));
  sums.set_tokens(sums.tokens() + result.tokens);
  state_.set_step(state_.step() + 1);
  state_.mutable_loader()->set_epoch(loader.position().epoch);
  state_.mutable_loader()->set_batch(loader.position().batch);
}

absl::Status Pretrainer::Save() {
  const std::chrono::duration<double> elapsed = Clock::now() - resumed_at_;
  state_.mutable_efficiency()->set_wall_seconds(earlier_seconds_ + elapsed.count());
  state_.mutable_efficiency()->set_micro_batch_examples(
      static_cast<int32_t>(run_.micro_batch_examples));
  LRA_RETURN_IF_ERROR(SaveCheckpoint(directory_, model_->parameters(), optimizer_, &state_));
  PruneCheckpoints(directory_, {state_.step()});
  return absl::OkStatus();
}

absl::Status Pretrainer::AfterStep() {
  const int64_t every_steps = run_.request.runtime.checkpoint_every_steps();
  const bool is_save = TakeSaveRequest() || IsDue(config_.train().eval_every_steps()) ||
                       (every_steps > 0 && IsDue(every_steps));
  if (IsDue(config_.train().eval_every_steps()) || IsDue(config_.train().log_every_steps())) {
    const CurvePoint point =
        PointFromSums(state_, schedule_.At(state_.step() - 1, 0).learning_rate);
    state_.clear_sums();
    *state_.add_curve() = point;
    LRA_RETURN_IF_ERROR(AppendCurve(directory_, point));
  }
  return is_save ? Save() : absl::OkStatus();
}

absl::Status Pretrainer::Train() {
  const int64_t steps = config_.pretrain().steps();
  TrainLoader loader(run_.train, MakeLoaderOptions(config_.train(), config_.seed()),
                     {state_.loader().epoch(), state_.loader().batch()});
  LRA_RETURN_IF_ERROR(RewriteCurve(directory_, state_));
  Progress progress({.label = absl::StrCat("pretrain ", config_.attention().name()),
                     .unit = "steps",
                     .total = steps,
                     .start = state_.step(),
                     .quiet = run_.request.runtime.quiet()});
  while (state_.step() < steps) {
    LRA_ASSIGN_OR_RETURN(const TokenStep result, Step(loader.Next()));
    Count(result, loader);
    const std::string detail =
        absl::StrFormat("loss %.3f", result.loss_sum / static_cast<double>(result.guesses));
    LRA_RETURN_IF_ERROR(AfterStep());
    progress.Update(state_.step(), detail);
    if (!StopRequested() || state_.step() == steps) continue;
    LRA_RETURN_IF_ERROR(Save());
    return absl::CancelledError(absl::StrCat("stopped at pretraining step ", state_.step(), " of ",
                                             steps, "; saved in ", directory_,
                                             "; --resume goes on"));
  }
  progress.Finish();
  return absl::OkStatus();
}

PretrainResult Pretrainer::Result() const {
  PretrainResult result;
  result.set_steps(state_.step());
  for (const CurvePoint& point : state_.curve())
    result.set_tokens(result.tokens() + point.tokens());
  result.set_first_loss(state_.curve(0).train_loss());
  result.set_last_loss(state_.curve(state_.curve_size() - 1).train_loss());
  result.set_seconds(state_.efficiency().wall_seconds());
  return result;
}

}  // namespace

absl::Status Pretrain(Run* run) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<TokenModel> model,
                       TokenModel::Create(run->config(), run->train.spec()));
  model->MoveTo(run->model->parameters().parameters()[0].value.device());
  Pretrainer pretrainer(run, std::move(model));
  LRA_RETURN_IF_ERROR(pretrainer.Restore());
  LRA_RETURN_IF_ERROR(pretrainer.Train());
  CopySharedParameters(pretrainer.parameters(), run->model->parameters());
  *run->state.mutable_pretrain() = pretrainer.Result();
  return absl::OkStatus();
}

}  // namespace lra
