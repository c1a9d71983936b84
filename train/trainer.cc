#include "train/trainer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "datasets/loader.h"
#include "eval/evaluator.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/torch_status.h"
#include "train/batch_gradient.h"
#include "train/checkpoint.h"
#include "train/curve.h"
#include "train/divergence.h"
#include "train/estimate.h"
#include "train/finish.h"
#include "train/first_bad.h"
#include "train/pretrain.h"
#include "train/search.h"

namespace lra {
namespace {

std::atomic<bool> stop_requested{false}, save_requested{false};

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct StepResult {
  BatchResult batch;
  double gradient_norm = 0;
};

void AddCounts(const std::vector<int64_t>& from, google::protobuf::RepeatedField<int64_t>* to) {
  to->Resize(static_cast<int>(from.size()), 0);
  for (size_t i = 0; i < from.size(); ++i) (*to)[static_cast<int>(i)] += from[i];
}

bool IsTrained(const CheckpointState& state) {
  return (state.step() >= state.config().train().steps() || state.stopped_at_step() > 0) &&
         !state.has_unvalidated();
}

class Trainer {
 public:
  explicit Trainer(Run* run)
      : run_(*run),
        schedule_(run->MakeSchedule()),
        loader_(run->train, MakeLoaderOptions(run->config().train(), run->config().seed()),
                {run->state.loader().epoch(), run->state.loader().batch()}) {}

  absl::Status Train();

 private:
  absl::StatusOr<StepResult> Step();
  absl::Status CheckFinite(const HostBatch& batch, const StepResult& result) const;
  void Count(const StepResult& result);
  absl::Status AfterStep();
  CurvePoint TakePoint();
  absl::Status AddCurvePoint(bool validate);
  absl::Status Validate(CurvePoint* point);
  void CountGain(double accuracy);
  absl::Status Save();
  absl::Status WithLastCheckpoint(const absl::Status& status) const;
  std::string Detail() const;
  ScheduleValue ScheduleAt(int64_t step) const {
    return schedule_.At(step, run_.state.plateau_reductions());
  }
  bool IsValidation(int64_t step) const {
    const TrainConfig& train = run_.config().train();
    return step % train.eval_every_steps() == 0 || step == train.steps();
  }
  bool IsCurvePoint(int64_t step) const {
    return IsValidation(step) || step % run_.config().train().log_every_steps() == 0;
  }
  bool IsSaveDue() const;
  bool IsFixedStep() const {
    const EvaluationConfig& evaluation = run_.config().evaluation();
    return evaluation.selection() == EvaluationConfig::FIXED_STEP &&
           run_.state.step() == evaluation.step();
  }
  Run& run_;
  Schedule schedule_;
  TrainLoader loader_;
  UpdateRatios ratios_;  // of the last step before a curve point
  Clock::time_point resumed_at_ = Clock::now(), saved_at_ = Clock::now();
  double earlier_seconds_ = 0;
  int64_t tokens_ = 0;  // in this process
};

absl::StatusOr<StepResult> Trainer::Step() {
  const HostBatch batch = loader_.Next();
  const int64_t step = run_.state.step();
  StepResult result;
  run_.optimizer->ZeroGradients();
  LRA_ASSIGN_OR_RETURN(result.batch,
                       AddBatchGradient(*run_.model, batch, run_.micro_batch_examples,
                                        {.training = true, .step = static_cast<uint32_t>(step)}));
  if (std::isfinite(result.batch.loss_sum)) {
    LRA_RETURN_IF_ERROR(CatchTorch([&] {
      result.gradient_norm =
          run_.optimizer->Step(ScheduleAt(step), IsCurvePoint(step + 1) ? &ratios_ : nullptr);
      return absl::OkStatus();
    }));
  }
  LRA_RETURN_IF_ERROR(CheckFinite(batch, result));
  return result;
}

absl::Status Trainer::CheckFinite(const HostBatch& batch, const StepResult& result) const {
  const bool is_loss_finite = std::isfinite(result.batch.loss_sum);
  if (is_loss_finite && std::isfinite(result.gradient_norm)) return absl::OkStatus();
  const int64_t step = run_.state.step();
  const std::string first = FirstBadTensor(*run_.model, batch, run_.micro_batch_examples, step);
  return DivergedError(
      absl::StrCat(is_loss_finite ? "gradient" : "loss", " is not finite at step ", step, " (loss ",
                   result.batch.loss_sum / batch.batch, ", gradient norm ", result.gradient_norm,
                   ", learning rate ", ScheduleAt(step).learning_rate, ", train examples ",
                   absl::StrJoin(batch.example_ids, " "),
                   "); first tensor that went bad: ", first.empty() ? "the loss itself" : first,
                   "; nothing was updated. A lower schedule.learning_rate, a longer warm-up or "
                   "optimizer.clip_norm usually helps"));
}

void Trainer::Count(const StepResult& step) {
  const BatchResult& result = step.batch;
  tokens_ += result.tokens;
  CheckpointState& state = run_.state;
  RunningSums& sums = *state.mutable_sums();
  sums.set_steps(sums.steps() + 1);
  sums.set_examples(sums.examples() + result.examples);
  sums.set_correct(sums.correct() + result.correct);
  sums.set_loss_sum(sums.loss_sum() + result.loss_sum);
  sums.set_gradient_norm_sum(sums.gradient_norm_sum() + step.gradient_norm);
  sums.set_max_gradient_norm(std::max(sums.max_gradient_norm(), step.gradient_norm));
  sums.set_tokens(sums.tokens() + result.tokens);
  AddCounts(result.labels, sums.mutable_label_examples());
  AddCounts(result.predicted, sums.mutable_predicted_examples());
  state.set_step(state.step() + 1);
  const TrainLoader::Position position = loader_.position();
  state.mutable_loader()->set_epoch(position.epoch);
  state.mutable_loader()->set_batch(position.batch);
}

absl::Status Trainer::Validate(CurvePoint* point) {
  const TrainConfig& train = run_.config().train();
  const absl::StatusOr<Scored> scored =
      ScoreSplit(*run_.model, run_.validation, run_.data.spec().classes(),
                 {.batch_examples = train.batch_examples(),
                  .limit_examples = train.validation_examples(),
                  .drop_last = run_.config().evaluation().drop_last(),
                  .should_stop = StopRequested});
  LRA_RETURN_IF_ERROR(
      Annotate(scored.status(), absl::StrCat("validation at step ", run_.state.step())));
  const SplitScore& score = scored->score;
  point->set_validation_loss(score.MeanLoss());
  point->set_validation_accuracy(score.Accuracy());
  CountGain(score.Accuracy());
  return absl::OkStatus();
}

void Trainer::CountGain(double accuracy) {
  CheckpointState& state = run_.state;
  const ScheduleConfig& schedule = run_.config().schedule();
  if (state.best_step() < 0 || accuracy > state.best_validation_accuracy()) {
    state.set_best_step(state.step());
    state.set_best_validation_accuracy(accuracy);
    state.set_evaluations_without_gain(0);
    state.set_plateau_wait_evaluations(0);
    return;
  }
  state.set_evaluations_without_gain(state.evaluations_without_gain() + 1);
  if (schedule.kind() == ScheduleConfig::PLATEAU) {
    state.set_plateau_wait_evaluations(state.plateau_wait_evaluations() + 1);
    if (state.plateau_wait_evaluations() > schedule.plateau_patience_evaluations()) {
      state.set_plateau_reductions(state.plateau_reductions() + 1);
      state.set_plateau_wait_evaluations(0);
    }
  }
  // Never before the step that will be selected.
  const int patience = run_.config().train().early_stop_evaluations();
  const EvaluationConfig& evaluation = run_.config().evaluation();
  const bool has_selected =
      evaluation.selection() != EvaluationConfig::FIXED_STEP || state.step() >= evaluation.step();
  if (patience > 0 && state.evaluations_without_gain() >= patience && has_selected &&
      !IsTrained(state)) {
    state.set_stopped_at_step(state.step());
  }
}

// Of the step, without validation.
CurvePoint Trainer::TakePoint() {
  CheckpointState& state = run_.state;
  CurvePoint point = state.unvalidated();
  if (state.has_unvalidated()) {
    state.clear_unvalidated();
    return point;
  }
  point = PointFromSums(state, ScheduleAt(state.step() - 1).learning_rate);
  point.set_update_ratio(ratios_.all);
  point.set_embedding_update_ratio(ratios_.embedding);
  return point;
}

absl::Status Trainer::AddCurvePoint(bool validate) {
  CurvePoint point = TakePoint();
  const absl::Status validated = validate ? Validate(&point) : absl::OkStatus();
  if (absl::IsCancelled(validated)) *run_.state.mutable_unvalidated() = point;
  LRA_RETURN_IF_ERROR(validated);
  run_.state.clear_sums();
  *run_.state.add_curve() = point;
  return AppendCurve(run_.request.runtime.out_dir(), point);
}

bool Trainer::IsSaveDue() const {
  const RuntimeConfig& runtime = run_.request.runtime;
  const int64_t every_steps = runtime.checkpoint_every_steps();
  if (every_steps > 0 && run_.state.step() % every_steps == 0) return true;
  const double every_seconds = 60 * runtime.checkpoint_every_minutes();
  return every_seconds > 0 && SecondsSince(saved_at_) >= every_seconds;
}

absl::Status Trainer::AfterStep() {
  const int64_t step = run_.state.step();
  const bool validate = IsValidation(step);
  if (IsCurvePoint(step)) LRA_RETURN_IF_ERROR(AddCurvePoint(validate));
  const bool was_asked = TakeSaveRequest();
  if (validate || was_asked || IsFixedStep() || IsSaveDue()) return Save();
  return absl::OkStatus();
}

absl::Status Trainer::Save() {
  Efficiency& efficiency = *run_.state.mutable_efficiency();
  efficiency.set_wall_seconds(earlier_seconds_ + SecondsSince(resumed_at_));
  efficiency.set_peak_memory_bytes(std::max(efficiency.peak_memory_bytes(), PeakMemoryBytes()));
  efficiency.set_threads(ResolveThreads(run_.request.runtime.threads()));
  efficiency.set_micro_batch_examples(static_cast<int32_t>(run_.micro_batch_examples));
  const RuntimeConfig& runtime = run_.request.runtime;
  const std::string& out = runtime.out_dir();
  LRA_RETURN_IF_ERROR(SaveCheckpoint(out, run_.model->parameters(), *run_.optimizer, &run_.state));
  saved_at_ = Clock::now();
  std::vector<int64_t> keep = CheckpointSteps(out);
  // Later steps are of a process that was killed before it could point at them.
  std::erase_if(keep, [&](int64_t step) { return step > run_.state.step(); });
  const size_t newest = std::max(1, runtime.keep_checkpoints());
  if (keep.size() > newest) keep.erase(keep.begin(), keep.end() - newest);
  keep.push_back(run_.state.best_step());
  if (run_.config().evaluation().selection() == EvaluationConfig::FIXED_STEP) {
    keep.push_back(run_.config().evaluation().step());
  }
  PruneCheckpoints(out, keep);
  return absl::OkStatus();
}

// Says what is left after a failure that was not of the model's making.
absl::Status Trainer::WithLastCheckpoint(const absl::Status& status) const {
  if (status.ok()) return status;
  const absl::StatusOr<std::string> latest = LatestCheckpoint(run_.request.runtime.out_dir());
  return absl::Status(
      status.code(),
      absl::StrCat("training stopped after step ", run_.state.step(), ": ", status.message(), "; ",
                   latest.ok() ? absl::StrCat(*latest, " is whole: --resume goes on from it")
                               : "there is no checkpoint yet"));
}

std::string Trainer::Detail() const {
  const RunningSums& sums = run_.state.sums();
  std::string detail;
  if (sums.examples() > 0) {
    detail = absl::StrFormat("loss %.3f  accuracy %.1f%%", sums.loss_sum() / sums.examples(),
                             100.0 * sums.correct() / sums.examples());
  }
  if (run_.state.best_step() >= 0) {
    absl::StrAppendFormat(&detail, "  best validation %.1f%%",
                          100 * run_.state.best_validation_accuracy());
  }
  absl::StrAppend(&detail, detail.empty() ? "" : "  ", "memory ", FormatBytes(PeakMemoryBytes()));
  return detail;
}

absl::Status Trainer::Train() {
  const int64_t steps = run_.config().train().steps();
  earlier_seconds_ = run_.state.efficiency().wall_seconds();
  LRA_RETURN_IF_ERROR(RewriteCurve(run_.request.runtime.out_dir(), run_.state));
  const bool quiet = run_.request.runtime.quiet();
  Progress progress({.label = absl::StrCat("train ", run_.config().attention().name()),
                     .unit = "steps",
                     .total = steps,
                     .start = run_.state.step(),
                     .quiet = quiet,
                     .second_unit = "tokens"});
  while (!IsTrained(run_.state)) {
    if (!run_.state.has_unvalidated()) {  // else the step is taken
      LRA_ASSIGN_OR_RETURN(const StepResult result, Step());
      Count(result);
    }
    const std::string detail = quiet ? "" : Detail();
    const absl::Status after = AfterStep();
    if (!absl::IsCancelled(after)) LRA_RETURN_IF_ERROR(WithLastCheckpoint(after));
    progress.Update(run_.state.step(), detail, tokens_);
    if (StopRequested() && !IsTrained(run_.state)) {
      LRA_RETURN_IF_ERROR(WithLastCheckpoint(Save()));
      return absl::CancelledError(absl::StrCat("stopped at step ", run_.state.step(), " of ", steps,
                                               "; saved in ", run_.request.runtime.out_dir(),
                                               "; --resume goes on"));
    }
  }
  progress.Finish();
  if (run_.state.stopped_at_step() > 0 && !quiet) {
    std::cerr << "stopped early at step " << run_.state.stopped_at_step() << ": "
              << run_.state.evaluations_without_gain()
              << " evaluations without a better validation accuracy\n";
  }
  return absl::OkStatus();
}

// Chooses the micro batch and says what the run will take, before its first step.
absl::Status Plan(Run* run) {
  const bool quiet = run->request.runtime.quiet();
  LRA_ASSIGN_OR_RETURN(const MicroBatch choice, ChooseMicroBatch(*run));
  run->micro_batch_examples = choice.examples;
  if (quiet) return absl::OkStatus();
  std::cerr << DescribeMicroBatch(choice) << "\n";
  if (run->state.step() > 0) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const RunEstimate estimate, EstimateRun(*run));
  std::cerr << DescribeEstimate(estimate) << "\n";
  return absl::OkStatus();
}

}  // namespace

void RequestStop() { stop_requested = true; }
void RequestSave() { save_requested = true; }

bool StopRequested() { return stop_requested; }
bool TakeSaveRequest() { return save_requested.exchange(false); }

namespace {

// All that is left of the run's training.
absl::Status TrainOn(Run* run) {
  if (StopRequested()) {
    return absl::CancelledError(absl::StrCat("stopped before ", run->request.runtime.out_dir()));
  }
  if (IsTrained(run->state)) return RewriteCurve(run->request.runtime.out_dir(), run->state);
  LRA_RETURN_IF_ERROR(Plan(run));
  if (run->config().has_pretrain() && run->state.step() == 0) LRA_RETURN_IF_ERROR(Pretrain(run));
  Trainer trainer(run);
  return trainer.Train();
}

}  // namespace

absl::StatusOr<CheckpointState> TrainToEnd(const TrainRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Run> run, OpenRun(request));
  LRA_RETURN_IF_ERROR(TrainOn(run.get()));
  return std::move(run->state);
}

absl::StatusOr<RunRecord> TrainAndTest(const TrainRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Run> run, OpenRun(request));
  if (FileExists(JoinPath(request.runtime.out_dir(), kRecordFile))) {
    return ReadRunRecord(request.runtime.out_dir());
  }
  LRA_RETURN_IF_ERROR(TrainOn(run.get()));
  return FinishRun(run.get());
}

absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request) {
  return request.resolved.config.has_search() ? SearchRun(request) : TrainAndTest(request);
}

}  // namespace lra
