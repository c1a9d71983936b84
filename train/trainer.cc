#include "train/trainer.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/evaluator.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "models/torch_status.h"
#include "train/checkpoint.h"
#include "train/curve.h"
#include "train/estimate.h"
#include "train/finish.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

std::atomic<bool> stop_requested{false};

// Sums of one optimiser step.
struct StepResult {
  double loss_sum = 0;
  int64_t examples = 0;
  int64_t correct = 0;
  int64_t tokens = 0;
  double gradient_norm = 0;
  // By class.
  std::vector<int64_t> labels, predicted;
};

// Adds how often each class occurs.
void AddCounts(const at::Tensor& classes, int64_t count, std::vector<int64_t>* counts) {
  counts->resize(count);
  const int64_t* values = classes.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < classes.numel(); ++i) ++(*counts)[values[i]];
}

void AddCounts(const std::vector<int64_t>& from, google::protobuf::RepeatedField<int64_t>* to) {
  to->Resize(static_cast<int>(from.size()), 0);
  for (size_t i = 0; i < from.size(); ++i) (*to)[static_cast<int>(i)] += from[i];
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
  absl::Status Accumulate(const HostBatch& part, int64_t batch_examples, StepResult* result) const;
  absl::Status CheckFinite(const HostBatch& batch, const StepResult& result) const;
  void Count(const StepResult& result);
  absl::Status AfterStep();
  absl::Status Validate(CurvePoint* point);
  absl::Status Save();
  bool IsDue(int64_t every_steps) const {
    return every_steps > 0 && run_.state.step() % every_steps == 0;
  }
  bool IsLast() const { return run_.state.step() == run_.config().train().steps(); }
  std::string Detail() const;

  Run& run_;
  Schedule schedule_;
  TrainLoader loader_;
  std::chrono::steady_clock::time_point resumed_at_ = std::chrono::steady_clock::now();
  double earlier_seconds_ = 0;
};

absl::Status Trainer::Accumulate(const HostBatch& part, int64_t batch_examples,
                                 StepResult* result) const {
  const ForwardContext context{.training = true, .step = static_cast<uint32_t>(run_.state.step())};
  const at::Tensor logits = run_.model->Forward(part, context);  // [B, C]
  const at::Tensor labels =
      at::from_blob(const_cast<int32_t*>(part.labels.data()), {part.batch}, at::kInt).to(at::kLong);
  const at::Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum);
  loss.div(static_cast<double>(batch_examples)).backward();
  result->loss_sum += loss.item<double>();
  result->examples += part.batch;
  const at::Tensor predicted = logits.argmax(1);
  result->correct += predicted.eq(labels).sum().item<int64_t>();
  AddCounts(labels, logits.size(1), &result->labels);
  AddCounts(predicted, logits.size(1), &result->predicted);
  for (const std::vector<int32_t>* lengths : {&part.lengths, &part.lengths_b}) {
    result->tokens += std::accumulate(lengths->begin(), lengths->end(), int64_t{0});
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Trainer::Step() {
  const HostBatch batch = loader_.Next();
  StepResult result;
  run_.optimizer->ZeroGradients();
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    for (const HostBatch& part : SplitBatch(batch, run_.request.runtime.micro_batch_examples(),
                                            run_.model->depends_on_padding())) {
      LRA_RETURN_IF_ERROR(Accumulate(part, batch.batch, &result));
    }
    if (!std::isfinite(result.loss_sum))
      return absl::OkStatus();  // reported below, nothing updated
    result.gradient_norm = run_.optimizer->Step(schedule_.At(run_.state.step()));
    return absl::OkStatus();
  }));
  LRA_RETURN_IF_ERROR(CheckFinite(batch, result));
  return result;
}

absl::Status Trainer::CheckFinite(const HostBatch& batch, const StepResult& result) const {
  if (std::isfinite(result.loss_sum) && std::isfinite(result.gradient_norm))
    return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      std::isfinite(result.loss_sum) ? "gradient" : "loss", " is not finite at step ",
      run_.state.step(), " (loss ", result.loss_sum / batch.batch, ", gradient norm ",
      result.gradient_norm, ", learning rate ", schedule_.At(run_.state.step()).learning_rate,
      ", train examples ", absl::StrJoin(batch.example_ids, " "),
      "); nothing was updated. A lower schedule.learning_rate, a longer warm-up or "
      "optimizer.clip_norm usually helps"));
}

void Trainer::Count(const StepResult& result) {
  CheckpointState& state = run_.state;
  RunningSums& sums = *state.mutable_sums();
  sums.set_steps(sums.steps() + 1);
  sums.set_examples(sums.examples() + result.examples);
  sums.set_correct(sums.correct() + result.correct);
  sums.set_loss_sum(sums.loss_sum() + result.loss_sum);
  sums.set_gradient_norm_sum(sums.gradient_norm_sum() + result.gradient_norm);
  sums.set_max_gradient_norm(std::max(sums.max_gradient_norm(), result.gradient_norm));
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
                  .drop_last = run_.config().evaluation().drop_last()});
  LRA_RETURN_IF_ERROR(
      Annotate(scored.status(), absl::StrCat("validation at step ", run_.state.step())));
  const SplitScore& score = scored->score;
  point->set_validation_loss(score.MeanLoss());
  point->set_validation_accuracy(score.Accuracy());
  if (run_.state.best_step() < 0 || score.Accuracy() > run_.state.best_validation_accuracy()) {
    run_.state.set_best_step(run_.state.step());
    run_.state.set_best_validation_accuracy(score.Accuracy());
  }
  return absl::OkStatus();
}

absl::Status Trainer::AfterStep() {
  const TrainConfig& train = run_.config().train();
  const bool validate = IsDue(train.eval_every_steps()) || IsLast();
  if (validate || IsDue(train.log_every_steps())) {
    CurvePoint point = PointFromSums(run_.state, schedule_.At(run_.state.step() - 1).learning_rate);
    if (validate) LRA_RETURN_IF_ERROR(Validate(&point));
    run_.state.clear_sums();
    *run_.state.add_curve() = point;
    LRA_RETURN_IF_ERROR(AppendCurve(run_.request.runtime.out_dir(), point));
  }
  if (validate || IsDue(run_.request.runtime.checkpoint_every_steps())) return Save();
  return absl::OkStatus();
}

absl::Status Trainer::Save() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - resumed_at_;
  Efficiency& efficiency = *run_.state.mutable_efficiency();
  efficiency.set_wall_seconds(earlier_seconds_ + elapsed.count());
  efficiency.set_peak_memory_bytes(std::max(efficiency.peak_memory_bytes(), PeakMemoryBytes()));
  efficiency.set_threads(ResolveThreads(run_.request.runtime.threads()));
  const std::string& out = run_.request.runtime.out_dir();
  LRA_RETURN_IF_ERROR(SaveCheckpoint(out, run_.model->parameters(), *run_.optimizer, &run_.state));
  PruneCheckpoints(out, {run_.state.step(), run_.state.best_step()});
  return absl::OkStatus();
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
  return detail;
}

absl::Status Trainer::Train() {
  const int64_t steps = run_.config().train().steps();
  earlier_seconds_ = run_.state.efficiency().wall_seconds();
  LRA_RETURN_IF_ERROR(RewriteCurve(run_.request.runtime.out_dir(), run_.state));
  Progress progress({.label = absl::StrCat("train ", run_.config().attention().name()),
                     .unit = "steps",
                     .total = steps,
                     .start = run_.state.step(),
                     .quiet = run_.request.runtime.quiet()});
  while (run_.state.step() < steps) {
    LRA_ASSIGN_OR_RETURN(const StepResult result, Step());
    Count(result);
    const std::string detail = Detail();
    LRA_RETURN_IF_ERROR(AfterStep());
    progress.Update(run_.state.step(), detail);
    if (stop_requested && !IsLast()) {
      LRA_RETURN_IF_ERROR(Save());
      return absl::CancelledError(absl::StrCat("stopped at step ", run_.state.step(), " of ", steps,
                                               "; saved in ", run_.request.runtime.out_dir(),
                                               "; --resume goes on"));
    }
  }
  progress.Finish();
  return absl::OkStatus();
}

}  // namespace

void RequestStop() { stop_requested = true; }

absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Run> run, OpenRun(request));
  const std::string& out = request.runtime.out_dir();
  if (FileExists(JoinPath(out, "record.textproto"))) return ReadRunRecord(out);
  LRA_RETURN_IF_ERROR(MakeDirectories(out));
  if (stop_requested) return absl::CancelledError(absl::StrCat("stopped before ", out));
  if (run->state.step() == 0 && !request.runtime.quiet()) {
    LRA_ASSIGN_OR_RETURN(const RunEstimate estimate, EstimateRun(*run));
    std::cerr << DescribeEstimate(estimate) << "\n";
  }
  if (run->state.step() < run->config().train().steps()) {
    Trainer trainer(run.get());
    LRA_RETURN_IF_ERROR(trainer.Train());
  }
  return FinishRun(run.get());
}

}  // namespace lra
