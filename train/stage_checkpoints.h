// Decides during a stage when a checkpoint is due besides those at evaluations and which ones are
// kept, and adds advice to errors of saving.
#ifndef LRA_TRAIN_STAGE_CHECKPOINTS_H_
#define LRA_TRAIN_STAGE_CHECKPOINTS_H_

#include <c10/core/Device.h>

#include <chrono>
#include <optional>

#include "absl/status/status.h"
#include "eval/energy.h"
#include "lra/config.pb.h"
#include "lra/cpu_time.h"
#include "train/interruption.h"
#include "train/objective.h"

namespace lra {

// Raises the peaks of memory to those of this process and of the model's device.
void RecordPeakMemory(at::Device device, Efficiency* efficiency);

class StageCheckpoints {
 public:
  // Time starts now and continues what state.efficiency holds of earlier processes. Both arguments
  // must outlive the object.
  StageCheckpoints(const RuntimeConfig& runtime, const Stage& stage);

  // Whether a checkpoint is due because of the runtime's steps or minutes, or because the user
  // asked (RequestSave).
  bool TakeDue();
  // Leaves out time in which the process trained other runs.
  void LeaveOut(double seconds) { others_seconds_ += seconds; }
  // Saves weights, moments and state, including time, CPU time, memory, threads and micro batch so
  // far. Then only the newest runtime.keep_checkpoints, the best step's and the objective's kept
  // step's remain.
  absl::Status Save();
  // Adds to an error that is not the model's fault what is left on disk.
  absl::Status WithLatest(const absl::Status& status) const;

 private:
  using Clock = std::chrono::steady_clock;

  void AddEfficiency();
  void Prune() const;

  const RuntimeConfig& runtime_;
  const Stage& stage_;
  const double earlier_seconds_;
  // Unset for a run that goes on from where these were not counted: a part would pass for the
  // whole.
  const std::optional<double> earlier_joules_, earlier_cpu_seconds_;
  EnergyMeter energy_;
  const double cpu_begin_seconds_ = ProcessCpuSeconds();
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point saved_at_ = begin_;
  double others_seconds_ = 0;
  int save_requests_ = SaveRequests();  // that were answered, or are older
};

}  // namespace lra

#endif  // LRA_TRAIN_STAGE_CHECKPOINTS_H_
