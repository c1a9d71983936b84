#include "train/trainer.h"

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "run_folder/curve.h"
#include "run_folder/divergence.h"
#include "train/estimate.h"
#include "train/finish.h"
#include "train/interruption.h"
#include "train/label_objective.h"
#include "train/loop.h"
#include "train/pretrain.h"
#include "train/search.h"

namespace lra {
namespace {

bool IsTrained(const CheckpointState& state) {
  return (state.step() >= state.config().train().steps() || state.stopped_at_step() > 0) &&
         !state.has_unvalidated();
}

void ReportEarlyStop(const Metric& metric, const CheckpointState& state) {
  std::cerr << "stopped early at step " << state.stopped_at_step() << ": "
            << state.evaluations_without_gain() << " evaluations without a better validation "
            << metric.name() << "\n";
}

// Does all that is left of the run's training. Both stages are planned before the first step of
// either.
absl::Status TrainOn(Run* run) {
  const RuntimeConfig& runtime = run->request.runtime;
  if (StopRequested())
    return absl::CancelledError(absl::StrCat("stopped before ", runtime.out_dir()));
  if (IsTrained(run->state)) return RewriteCurve(runtime.out_dir(), run->state);
  const LabelObjective objective(*run);
  Stage stage = LabelStage(objective, run);
  LRA_RETURN_IF_ERROR(PlanStage(*run, &stage));
  if (run->config().has_pretrain() && run->state.step() == 0) LRA_RETURN_IF_ERROR(Pretrain(run));
  LRA_RETURN_IF_ERROR(TrainStage(*run, stage));
  if (run->state.stopped_at_step() > 0 && !runtime.quiet())
    ReportEarlyStop(*run->metric, run->state);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CheckpointState> TrainToEnd(const TrainRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Run> run, OpenRun(request));
  LRA_RETURN_IF_ERROR(TrainOn(run.get()));
  return std::move(run->state);
}

absl::StatusOr<RunRecord> TrainAndTest(const TrainRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Run> run, OpenRun(request));
  if (FileExists(JoinPath(request.runtime.out_dir(), kRecordFile)))
    return ReadOutcome(request.runtime.out_dir());
  const absl::Status trained = TrainOn(run.get());
  if (HasDiverged(trained)) LRA_RETURN_IF_ERROR(RecordFailure(*run, FailureOf(trained)).status());
  LRA_RETURN_IF_ERROR(trained);
  return FinishRun(run.get());
}

absl::StatusOr<RunRecord> ReadOutcome(const std::string& run_dir) {
  LRA_ASSIGN_OR_RETURN(RunRecord record, ReadRunRecord(run_dir));
  if (record.has_failure()) return DivergedError(record.failure());
  return record;
}

absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request) {
  return request.resolved.config.has_search() ? SearchRun(request) : TrainAndTest(request);
}

}  // namespace lra
