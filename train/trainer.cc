#include "train/trainer.h"

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "models/base/device_work.h"
#include "run_folder/curve.h"
#include "run_folder/divergence.h"
#include "train/estimate.h"
#include "train/finish.h"
#include "train/interruption.h"
#include "train/label_objective.h"
#include "train/loop.h"
#include "train/pretrain.h"
#include "train/search.h"
#include "train/shared_run.h"

namespace lra {
namespace {

void ReportEarlyStop(const Metric& metric, const CheckpointState& state) {
  std::cerr << "stopped early at step " << state.stopped_at_step() << ": "
            << state.evaluations_without_gain() << " evaluations without a better validation "
            << metric.name() << "\n";
}

absl::Status StopBefore(const RuntimeConfig& runtime) {
  return StopRequested() ? absl::CancelledError(absl::StrCat("stopped before ", runtime.out_dir()))
                         : absl::OkStatus();
}

// Whether the run has ended before, as rank 0 sees it.
absl::StatusOr<bool> HasRecord(const Run& run) {
  const bool here =
      run.writes() && FileExists(JoinPath(run.request.runtime.out_dir(), kRecordFile));
  LRA_ASSIGN_OR_RETURN(const std::string shared, run.ranks->Share(here ? "yes" : ""));
  return !shared.empty();
}

// The record of a run that has ended before.
absl::StatusOr<RunRecord> ReadOwnRecord(const Run& run) {
  const std::string& out = run.request.runtime.out_dir();
  LRA_ASSIGN_OR_RETURN(RunRecord record, ReadRunRecord(out));
  LRA_RETURN_IF_ERROR(CheckSameRecord(run.config(), run.state.data(), record, out));
  return record;
}

absl::StatusOr<RunRecord> OutcomeOf(const RunRecord& record) {
  if (record.has_failure()) return DivergedError(record.failure());
  return record;
}

// Does all that is left of the run's training. Both stages are planned before the first step of
// either.
absl::Status TrainOn(Run* run) {
  const RuntimeConfig& runtime = run->request.runtime;
  LRA_RETURN_IF_ERROR(run->ranks->Agree(StopBefore(runtime)));
  if (IsTrained(run->state))
    return run->writes() ? RewriteCurve(runtime.out_dir(), run->state) : absl::OkStatus();
  const LabelObjective objective(*run);
  Stage stage = LabelStage(objective, run);
  LRA_RETURN_IF_ERROR(PlanStage(*run, &stage));
  if (run->config().has_pretrain() && run->state.step() == 0) LRA_RETURN_IF_ERROR(Pretrain(run));
  LRA_RETURN_IF_ERROR(TrainStage(*run, stage));
  if (run->state.stopped_at_step() > 0 && !runtime.quiet())
    ReportEarlyStop(*run->metric, run->state);
  return absl::OkStatus();
}

absl::StatusOr<RunRecord> TrainAndFinish(Run* run) {
  LRA_RETURN_IF_ERROR(TrainOn(run));
  return FinishRun(run);
}

}  // namespace

absl::StatusOr<CheckpointState> TrainToEnd(const TrainRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Run> run, OpenRun(request));
  const StreamScope stream(run->model->parameters().device());
  LRA_RETURN_IF_ERROR(TrainOn(run.get()));
  return std::move(run->state);
}

absl::StatusOr<RunRecord> TrainAndTest(const TrainRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Run> run, OpenRun(request));
  const StreamScope stream(run->model->parameters().device());
  LRA_ASSIGN_OR_RETURN(const bool has_ended, HasRecord(*run));
  if (has_ended) {
    absl::StatusOr<RunRecord> record = RunRecord();
    if (run->writes()) record = ReadOwnRecord(*run);
    LRA_ASSIGN_OR_RETURN(record, ShareRecord(run->ranks.get(), record));
    return OutcomeOf(*record);
  }
  const absl::StatusOr<RunRecord> record = TrainAndFinish(run.get());
  if (HasDiverged(record.status()))
    LRA_RETURN_IF_ERROR(RecordFailure(*run, FailureOf(record.status())).status());
  return record;
}

absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request) {
  return request.resolved.config.has_search() ? SearchRun(request) : TrainAndTest(request);
}

}  // namespace lra
