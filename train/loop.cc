#include "train/loop.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "eval/curve_values.h"
#include "eval/scorer.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/base/upload_slots.h"
#include "run_folder/curve.h"
#include "run_folder/divergence.h"
#include "train/first_bad.h"
#include "train/interruption.h"
#include "train/shared_gradient.h"
#include "train/shared_run.h"
#include "train/stage_checkpoints.h"
#include "train/statistics_before.h"
#include "train/step_graphs.h"
#include "train/step_sums.h"
#include "train/stretches.h"
#include "train/validations.h"

namespace lra {
namespace {

// On a device, at most so many steps are under way before their results are looked at.
constexpr size_t kMostPending = 10;

// A step whose results are still on the device.
struct PendingStep {
  int64_t step;
  TrainLoader::Position position;  // before it
  HostBatch batch;
  BatchResult result;
  at::Tensor gradient_norm;  // float64 []
};

// Another rank is gone, or an attention that is not the program's own (lra/python_attention.h)
// failed: what was trained until then is good.
bool ComesFromOutside(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

class Loop {
 public:
  Loop(const Run& run, const Stage& stage)
      : run_(run),
        stage_(stage),
        objective_(*stage.objective),
        state_(*stage.state),
        loader_(run.train,
                MakeLoaderOptions(run.config().train(), run.config().seed(), objective_.order()),
                {state_.loader().epoch(), state_.loader().batch()}),
        checkpoints_(run.request.runtime, stage),
        gradient_(objective_, run.ranks.get(), run.request.exact_reduction),
        uploads_(objective_.parameters().device()),
        graphs_(StepGraphs::Create(run, stage, &uploads_)) {}

  absl::Status Train();

 private:
  bool IsLate(int64_t step) const;
  absl::Status Step();
  absl::Status StepByOperators(const TrainLoader::Position& position, HostBatch batch, bool is_late,
                               const StatisticsBefore& before);
  absl::Status StepLate(const TrainLoader::Position& position, HostBatch batch, BatchResult result,
                        const StatisticsBefore& before);
  absl::Status StepByGraph(const TrainLoader::Position& position, HostBatch batch);
  absl::Status ReadPending();
  absl::Status Settle();
  absl::Status TakeStep();
  absl::Status CheckFinite(const HostBatch& batch, const StepResult& result) const;
  void Advance();
  void SetPosition(const TrainLoader::Position& position);
  void Count(const StepResult& result);
  absl::Status AfterStep();
  CurvePoint TakePoint();
  absl::Status Validate(CurvePoint* point);
  absl::Status AddCurvePoint(bool validate);
  absl::Status KeepForDiagnosis(const absl::Status& failure);
  absl::Status KeepUnvalidated(const absl::Status& failure);
  absl::Status KeepBefore(const absl::Status& loss);
  bool IsAskedToStop() const;
  absl::Status StopIfAsked();
  absl::Status Save();
  ScheduleValue ScheduleAt(int64_t step) const {
    return objective_.MakeSchedule(step).At(step, state_.plateau_reductions());
  }
  bool IsEvaluation(int64_t step) const {
    return IsValidatedAt(objective_, run_.config().train(), step);
  }
  bool IsCurvePoint(int64_t step) const {
    return IsEvaluation(step) || step % run_.config().train().log_every_steps() == 0;
  }
  bool IsOver() const {
    return (state_.step() >= objective_.steps() || state_.stopped_at_step() > 0) &&
           !state_.has_unvalidated();
  }

  const Run& run_;
  const Stage& stage_;
  const Objective& objective_;
  CheckpointState& state_;
  TrainLoader loader_;
  StageCheckpoints checkpoints_;
  SharedGradient gradient_;
  bool is_asked_to_stop_ = false;  // one of the ranks is; all know in the same step
  UpdateRatios ratios_;            // of the last step before a curve point
  int64_t tokens_ = 0;             // in this process
  std::vector<PendingStep> pending_;
  UploadSlots uploads_;
  std::unique_ptr<StepGraphs> graphs_;  // null: none
};

// Whether nobody needs to know at once how this step went.
bool Loop::IsLate(int64_t step) const {
  return gradient_.is_whole() && stage_.optimizer->can_step_on_device() &&
         !IsCurvePoint(step + 1) && pending_.size() < kMostPending;
}

absl::Status Loop::Step() {
  const int64_t step = state_.step();
  const bool is_late = IsLate(step);
  if (!is_late) LRA_RETURN_IF_ERROR(ReadPending());
  const TrainLoader::Position position = loader_.position();
  HostBatch batch = loader_.Next();
  if (is_late && graphs_ != nullptr) return StepByGraph(position, std::move(batch));
  return CatchTorch([&] {
    const StatisticsBefore before(objective_.parameters());
    const absl::Status status =
        CatchTorch([&] { return StepByOperators(position, std::move(batch), is_late, before); });
    if (!status.ok()) before.Restore();
    return status;
  });
}

// Throws as LibTorch does, as StepLate().
absl::Status Loop::StepByOperators(const TrainLoader::Position& position, HostBatch batch,
                                   bool is_late, const StatisticsBefore& before) {
  const int64_t step = state_.step();
  StepResult result;
  stage_.optimizer->ZeroGradients();
  LRA_ASSIGN_OR_RETURN(
      result.batch,
      gradient_.Add(batch, stage_.micro_batch_examples,
                    {.training = true, .step = static_cast<uint32_t>(step), .uploads = &uploads_},
                    StopRequested()));
  if (is_late) return StepLate(position, std::move(batch), std::move(result.batch), before);
  result.batch.Read();
  if (std::isfinite(result.batch.loss_sum)) {
    result.gradient_norm =
        stage_.optimizer->Step(ScheduleAt(step), IsCurvePoint(step + 1) ? &ratios_ : nullptr);
  }
  LRA_RETURN_IF_ERROR(CheckFinite(batch, result));
  Count(result);
  Advance();
  return absl::OkStatus();
}

absl::Status Loop::StepLate(const TrainLoader::Position& position, HostBatch batch,
                            BatchResult result, const StatisticsBefore& before) {
  const int64_t step = state_.step();
  const at::Tensor norm = stage_.optimizer->StepOnDevice(
      ScheduleAt(step), result.on_device.select(0, 0), /*rates=*/{}, &before);
  pending_.push_back({step, position, std::move(batch), std::move(result), norm});
  Advance();
  return absl::OkStatus();
}

absl::Status Loop::StepByGraph(const TrainLoader::Position& position, HostBatch batch) {
  const int64_t step = state_.step();
  LRA_ASSIGN_OR_RETURN(StepGraphs::Asked asked, graphs_->Take(batch, step, ScheduleAt(step)));
  Efficiency& efficiency = *state_.mutable_efficiency();
  efficiency.set_graph_steps(efficiency.graph_steps() + (asked.is_repeated ? 1 : 0));
  pending_.push_back(
      {step, position, std::move(batch), std::move(asked.result), asked.gradient_norm});
  Advance();
  return absl::OkStatus();
}

// Waits for the pending steps. If one of them went bad, the optimiser changed nothing from it on,
// and the state goes back to before it.
absl::Status Loop::ReadPending() {
  const std::vector<PendingStep> pending = std::exchange(pending_, {});
  for (const PendingStep& late : pending) {
    StepResult result = {late.result};
    LRA_RETURN_IF_ERROR(CatchTorch([&] {
      result.batch.Read();
      result.gradient_norm = late.gradient_norm.item<double>();
      return absl::OkStatus();
    }));
    const int64_t now = state_.step();
    state_.set_step(late.step);
    const absl::Status status = CheckFinite(late.batch, result);
    if (!status.ok()) {
      SetPosition(late.position);
      return status;
    }
    state_.set_step(now);
    Count(result);
  }
  return absl::OkStatus();
}

absl::Status Loop::Settle() {
  const absl::Status status = ReadPending();
  return HasDiverged(status) ? KeepForDiagnosis(status) : status;
}

absl::Status Loop::CheckFinite(const HostBatch& batch, const StepResult& result) const {
  if (std::isfinite(result.batch.loss_sum) && std::isfinite(result.gradient_norm))
    return absl::OkStatus();
  return DivergedByStep(objective_, state_, batch, stage_.micro_batch_examples, result,
                        ScheduleAt(state_.step()).learning_rate);
}

void Loop::Count(const StepResult& step) {
  tokens_ += step.batch.tokens;
  CountStep(step, &state_);
}

void Loop::SetPosition(const TrainLoader::Position& position) {
  state_.mutable_loader()->set_epoch(position.epoch);
  state_.mutable_loader()->set_batch(position.batch);
}

void Loop::Advance() {
  state_.set_step(state_.step() + 1);
  SetPosition(loader_.position());
}

// Makes the curve point of this step, without validation.
CurvePoint Loop::TakePoint() {
  CurvePoint point = state_.unvalidated();
  if (state_.has_unvalidated()) {
    state_.clear_unvalidated();
    return point;
  }
  point = PointFromSums(state_, ScheduleAt(state_.step() - 1).learning_rate);
  SetValues(objective_.metrics(), objective_.TrainingSums(state_.sums()), point.mutable_train());
  point.set_update_ratio(ratios_.all);
  point.set_embedding_update_ratio(ratios_.embedding);
  return point;
}

absl::Status Loop::Validate(CurvePoint* point) {
  const WeightAverage::Scope judged = stage_.optimizer->UseJudgedWeights();
  const absl::Status status = objective_.Validate(stage_.micro_batch_examples, &state_, point);
  return IsNotFinite(status) ? DivergedByOutput(objective_, state_, status) : status;
}

absl::Status Loop::AddCurvePoint(bool validate) {
  CurvePoint point = TakePoint();
  const absl::Status validated = validate ? Validate(&point) : absl::OkStatus();
  const bool is_put_off = absl::IsCancelled(validated) || ComesFromOutside(validated);
  if (is_put_off || HasDiverged(validated)) *state_.mutable_unvalidated() = point;
  if (HasDiverged(validated)) return KeepUnvalidated(validated);
  LRA_RETURN_IF_ERROR(validated);
  LRA_RETURN_IF_ERROR(run_.ConfirmClaim());
  state_.clear_sums();
  *state_.add_curve() = point;
  return run_.writes() ? AppendCurve(stage_.directory, point) : absl::OkStatus();
}

absl::Status Loop::AfterStep() {
  const int64_t step = state_.step();
  if (step % kCompareWeightsSteps == 0)
    LRA_RETURN_IF_ERROR(CompareWeights(run_.ranks.get(), objective_.parameters(), step));
  if (IsCurvePoint(step)) LRA_RETURN_IF_ERROR(AddCurvePoint(IsEvaluation(step)));
  const bool is_due = checkpoints_.TakeDue();
  if (!is_due && !IsEvaluation(step)) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(Settle());
  return Save();
}

absl::Status Loop::Save() {
  if (!run_.writes()) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(run_.ConfirmClaim());
  const absl::Status saved = checkpoints_.Save();
  // Whoever took the run over meanwhile has removed what was half-written.
  if (!saved.ok()) LRA_RETURN_IF_ERROR(run_.ConfirmClaim());
  return saved;
}

// Nothing was applied of the step that another rank left or whose attention failed, so that rank 0
// can save. A run that was never trained leaves nothing.
absl::Status Loop::KeepBefore(const absl::Status& loss) {
  if (!ComesFromOutside(loss)) return loss;
  if (absl::IsAborted(loss)) {
    LRA_RETURN_IF_ERROR(Settle());
    if (state_.step() == 0) return loss;
  }
  LRA_RETURN_IF_ERROR(checkpoints_.WithLatest(Save()));
  return checkpoints_.WithLatest(loss);
}

// The weights as they were before the step that went bad, the curve up to it and the failure: what
// the record and `lra doctor` look at.
absl::Status Loop::KeepForDiagnosis(const absl::Status& failure) {
  ratios_ = {};  // those of an earlier point; a run that is resumed here has none
  if (state_.sums().steps() > 0) LRA_RETURN_IF_ERROR(AddCurvePoint(/*validate=*/false));
  *state_.mutable_failure() = FailureOf(failure);
  LRA_RETURN_IF_ERROR(checkpoints_.WithLatest(Save()));
  return failure;
}

// Does the same where validation failed. The step's point is put off in what is saved, so that a
// process that goes on without the record validates again and fails alike.
absl::Status Loop::KeepUnvalidated(const absl::Status& failure) {
  *state_.mutable_failure() = FailureOf(failure);
  LRA_RETURN_IF_ERROR(checkpoints_.WithLatest(Save()));
  LRA_RETURN_IF_ERROR(AddCurvePoint(/*validate=*/false));
  return failure;
}

bool Loop::IsAskedToStop() const {
  return run_.ranks->is_alone() ? StopRequested() : is_asked_to_stop_;
}

absl::Status Loop::StopIfAsked() {
  if (!IsAskedToStop() || IsOver()) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(Settle());
  LRA_RETURN_IF_ERROR(checkpoints_.WithLatest(Save()));
  return absl::CancelledError(absl::StrCat(objective_.name(), " stopped at step ", state_.step(),
                                           " of ", objective_.steps(), "; saved in ",
                                           stage_.directory, "; --resume goes on"));
}

absl::Status Loop::TakeStep() {
  if (state_.has_unvalidated()) return absl::OkStatus();  // it is taken
  const absl::Status status = Step();
  is_asked_to_stop_ = gradient_.any_wants_stop();
  return HasDiverged(status) ? KeepForDiagnosis(status) : KeepBefore(status);
}

absl::Status Loop::Train() {
  if (run_.writes()) {
    LRA_RETURN_IF_ERROR(RewriteCurve(stage_.directory, state_));
    LRA_RETURN_IF_ERROR(RemoveAll(JoinPath(stage_.directory, kOldFailureFile)));
  }
  state_.clear_failure();  // of the process before
  if (!IsOver())           // those of the steps that follow
    NoteProcesses(run_.ranks->size(), run_.request.runs_at_once, run_.request.exact_reduction,
                  &state_);
  const bool quiet = run_.request.runtime.quiet();
  Progress progress({.label = absl::StrCat(objective_.name(), " ", MethodOf(run_.config())),
                     .unit = "steps",
                     .total = objective_.steps(),
                     .start = state_.step(),
                     .quiet = quiet,
                     .second_unit = "tokens"});
  while (!IsOver()) {
    LRA_RETURN_IF_ERROR(TakeStep());
    const std::string detail = quiet ? "" : DescribeProgress(objective_, state_);
    const absl::Status after = AfterStep();
    if (HasDiverged(after)) return after;
    if (ComesFromOutside(after)) return KeepBefore(after);
    if (absl::IsCancelled(after)) is_asked_to_stop_ = true;
    if (!absl::IsCancelled(after)) LRA_RETURN_IF_ERROR(checkpoints_.WithLatest(after));
    progress.Update(state_.step(), detail, tokens_);
    LRA_RETURN_IF_ERROR(StopIfAsked());
    if (run_.request.await_turn) checkpoints_.LeaveOut(run_.request.await_turn());
  }
  progress.Finish();
  return absl::OkStatus();
}

}  // namespace

absl::Status TrainStage(const Run& run, const Stage& stage) {
  Loop loop(run, stage);
  return loop.Train();
}

}  // namespace lra
