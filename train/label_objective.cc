#include "train/label_objective.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/view.h"
#include "eval/curve_values.h"
#include "eval/evaluator.h"
#include "lra/status_macros.h"
#include "train/batch_gradient.h"
#include "train/batch_statistics.h"
#include "train/interruption.h"
#include "train/micro_batch.h"
#include "train/shared_run.h"

namespace lra {
namespace {

// Lengths are rounded up to a multiple of this, so that few shapes occur.
constexpr int64_t kShapeTokens = 128;

}  // namespace

Schedule LabelObjective::MakeSchedule(int64_t) const {
  return Schedule(run_.config().schedule(), run_.config().optimizer(), steps());
}

absl::StatusOr<double> LabelObjective::Divisor(const HostBatch& batch, uint32_t) const {
  if (batch.labels.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a batch leaves nothing to guess: all tokens of its ", batch.batch,
                     " examples are given; raise view.max_length_tokens"));
  }
  const double weight = BatchWeight(run_.config().train(), run_.train.size(), batch.batch);
  return static_cast<double>(batch.labels.size()) / weight;
}

absl::StatusOr<BatchResult> LabelObjective::AddShare(const HostBatch& share, double divisor,
                                                     int64_t micro_batch_examples,
                                                     const ForwardContext& context) const {
  return AddBatchGradient(*run_.model, share, micro_batch_examples, counted_classes(), context,
                          divisor);
}

HostBatch LabelObjective::Shaped(HostBatch batch) const {
  if (depends_on_padding()) return batch;
  return PadToMultiple(std::move(batch), kShapeTokens, MaxBatchTokens(run_.config().view()));
}

std::vector<at::Tensor> LabelObjective::OnHost(const HostBatch& batch, double divisor) const {
  return LabelledOnHost(*run_.model, batch, divisor);
}

BatchResult LabelObjective::Known(const HostBatch& batch) const {
  return KnownOfBatch(batch, counted_classes());
}

at::Tensor LabelObjective::AddGradientOf(const HostBatch& batch,
                                         const std::vector<at::Tensor>& moved,
                                         const ForwardContext& context) const {
  return AddLabelGradient(*run_.model, batch, moved, counted_classes(), context);
}

void LabelObjective::VisitActivations(const HostBatch& batch, const ForwardContext& context,
                                      const Encoder::ActivationVisitor& visit) const {
  run_.model->VisitActivations(batch, context, visit);
}

int64_t LabelObjective::kept_step() const {
  const EvaluationConfig& evaluation = run_.config().evaluation();
  return evaluation.selection() == EvaluationConfig::FIXED_STEP ? evaluation.step() : -1;
}

std::vector<const Metric*> LabelObjective::metrics() const {
  const Metric* const accuracy = *FindMetric(kAccuracy);
  if (run_.metric == accuracy) return {accuracy};
  return {run_.metric, accuracy};
}

Sums LabelObjective::TrainingSums(const RunningSums& running) const {
  Sums sums = Objective::TrainingSums(running);
  if (guesses_tokens()) (*sums.mutable_counts())[kTokens] = CountOf(sums, kTargets);
  return sums;
}

absl::Status LabelObjective::SettleStatistics() const {
  const ExperimentConfig& config = run_.config();
  if (MeasuredBatches(config, run_.train.size()) == 0) return absl::OkStatus();
  return MeasureBatchStatistics(*run_.model, run_.train, config.seed(),
                                config.train().batch_examples(), StopRequested);
}

absl::Status LabelObjective::Validate(int64_t, CheckpointState* state, CurvePoint* point) const {
  LRA_RETURN_IF_ERROR(SettleStatistics());
  const TrainConfig& train = run_.config().train();
  EvaluatorOptions options = {.batch_examples = train.batch_examples(),
                              .limit_examples = train.validation_examples(),
                              .drop_last = run_.config().evaluation().drop_last(),
                              .should_stop = StopRequested};
  ShareEvaluation(run_.ranks, &options);
  const absl::StatusOr<Scored> scored =
      ScoreSplit(*run_.model, run_.validation, run_.train.spec().classes(), *run_.metric, options);
  LRA_RETURN_IF_ERROR(
      Annotate(scored.status(), absl::StrCat("validation at step ", state->step())));
  const Sums sums = scored->sums.Total();
  point->set_validation_loss((*FindMetric(kNats))->Value(sums));
  SetValues(metrics(), sums, point->mutable_validation());
  for (const auto& [name, value] : run_.model->LearnedNumbers())
    (*point->mutable_learned())[name] = value;
  CountGain(run_.metric->Value(sums), state);
  return absl::OkStatus();
}

void LabelObjective::CountGain(double value, CheckpointState* state) const {
  const ScheduleConfig& schedule = run_.config().schedule();
  if (state->best_step() < 0 || run_.metric->Better(value, state->best_validation())) {
    state->set_best_step(state->step());
    state->set_best_validation(value);
    state->set_evaluations_without_gain(0);
    state->set_plateau_wait_evaluations(0);
    return;
  }
  state->set_evaluations_without_gain(state->evaluations_without_gain() + 1);
  if (schedule.kind() == ScheduleConfig::PLATEAU) {
    state->set_plateau_wait_evaluations(state->plateau_wait_evaluations() + 1);
    if (state->plateau_wait_evaluations() > schedule.plateau_patience_evaluations()) {
      state->set_plateau_reductions(state->plateau_reductions() + 1);
      state->set_plateau_wait_evaluations(0);
    }
  }
  // A run never stops before the step that will be selected.
  const int patience = run_.config().train().early_stop_evaluations();
  const bool has_selected = state->step() >= kept_step();
  if (patience > 0 && state->evaluations_without_gain() >= patience && has_selected &&
      state->step() < steps()) {
    state->set_stopped_at_step(state->step());
  }
}

Stage LabelStage(const LabelObjective& objective, Run* run) {
  return {&objective, run->request.runtime.out_dir(), run->optimizer.get(), &run->state};
}

}  // namespace lra
