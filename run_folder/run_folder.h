// Reads what the folder of a run says about the run, finished or not. `lra watch` and `lra doctor`
// begin with this.
#ifndef LRA_RUN_FOLDER_RUN_FOLDER_H_
#define LRA_RUN_FOLDER_RUN_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"
#include "lra/pretrain_budget.h"

namespace lra {

enum class RunState {
  kFinished,  // the folder has a record
  kRunning,   // a process holds the lock
  kStopped,   // killed or interrupted; `lra train --resume` continues
  kDiverged,  // its record, or that of an older version's checkpoint, has the failure
};

// Returns "finished", "running", "stopped" or "diverged".
const char* RunStateName(RunState state);

struct RunFolder {
  RunState state = RunState::kStopped;
  // The run's record. For an unfinished run, what its newest checkpoint (config, spec, data,
  // provenance, efficiency) and its curve.jsonl say, without results; config is empty before the
  // first checkpoint.
  RunRecord record;
  // Which part of the run this is, e.g. "trial 2 of 3, learning rate 0.001" or "pretraining"; empty
  // for the run itself.
  std::string part;
  bool is_pretraining = false;
  // The cause of record.failure; empty otherwise.
  std::string failure;
  // Time since the last point was written; unset without points.
  std::optional<double> last_point_age_seconds;
  // The newest checkpoint of an unfinished run; 0 without one.
  int64_t checkpoint_step = 0;

  // The last step that is known of: that of the last point or, where it is later, of the newest
  // checkpoint, because an interrupted run saves between two points. 0 without either. Of an
  // evaluation, the step that it scored.
  int64_t step() const;
  // Optimiser steps of the whole run, or of pretraining; 0 = not known yet.
  int64_t total_steps() const {
    return is_pretraining ? PretrainSteps(record.config()) : record.config().train().steps();
  }
  // The metric that judges this part: the task's, or that of pretraining. The errors of MetricOf.
  absl::StatusOr<const Metric*> metric() const {
    return is_pretraining ? FindMetric(kBitsPerToken) : MetricOf(record.spec());
  }
  // Whether the last step of a run that goes on has been: what is left is scoring.
  bool is_scoring() const {
    return state == RunState::kRunning && !is_pretraining && total_steps() > 0 &&
           step() >= total_steps();
  }
  // Remaining time of training, estimated from the checkpoint's rate; unset if the run has ended or
  // is being scored, or the rate is not known yet.
  std::optional<double> eta_seconds() const;
};

// Whether a process holds the folder's lock. Others who ask at the same time are not taken for it.
bool IsTraining(const std::string& path);

// NotFound, with a description of a run's folder, if the folder does not exist or holds neither
// curve nor record; DataLoss for a damaged one.
absl::StatusOr<RunFolder> ReadRunFolder(const std::string& path);

// Does the same, but while the run itself has nothing to show, reads the trial of its search that
// is being trained (or was trained last), or its pretraining.
absl::StatusOr<RunFolder> ReadActivePart(const std::string& path);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_RUN_FOLDER_H_
