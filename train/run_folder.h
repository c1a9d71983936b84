// What a run's folder says about the run, finished or not: what `lra watch` and `lra doctor` begin
// with. Reads only.
#ifndef LRA_TRAIN_RUN_FOLDER_H_
#define LRA_TRAIN_RUN_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"

namespace lra {

enum class RunState {
  kFinished,  // has its record
  kRunning,   // a process holds its lock
  kStopped,   // killed, failed or interrupted; `lra train --resume` goes on
};

// "finished", "running", "stopped".
const char* RunStateName(RunState state);

struct RunFolder {
  RunState state = RunState::kStopped;
  // The record; of an unfinished run what its newest checkpoint (config, spec, data, provenance,
  // efficiency) and its curve.jsonl say, without results. config is empty before the first
  // checkpoint.
  RunRecord record;
  // What of the run this is about, as "trial 2 of 3, learning rate 0.001" or "pretraining"; empty =
  // the run itself.
  std::string part;
  bool is_pretraining = false;
  // Of a run that diverged: the message.
  std::string failure;
  // Since a point was written; unset without points.
  std::optional<double> last_point_age_seconds;

  // Of the last point; 0 without points.
  int64_t step() const;
  // Optimiser steps of the whole run, or of pretraining; 0 = not known yet.
  int64_t total_steps() const {
    return is_pretraining ? record.config().pretrain().steps() : record.config().train().steps();
  }
  // From the checkpoint's rate; unset when finished or not known yet.
  std::optional<double> eta_seconds() const;
};

// NotFound for a folder that does not exist and for one that holds neither curve nor record, with
// what a run's folder looks like; DataLoss for a damaged one.
absl::StatusOr<RunFolder> ReadRunFolder(const std::string& path);

// The same; while the run itself has nothing to show, the trial of its search that is trained (or
// was trained last), or its pretraining.
absl::StatusOr<RunFolder> ReadActivePart(const std::string& path);

}  // namespace lra

#endif  // LRA_TRAIN_RUN_FOLDER_H_
