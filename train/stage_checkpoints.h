// A stage's checkpoints while it trains: when one is due besides those at evaluations, which ones
// stay, and what to say when saving fails.
#ifndef LRA_TRAIN_STAGE_CHECKPOINTS_H_
#define LRA_TRAIN_STAGE_CHECKPOINTS_H_

#include <chrono>

#include "absl/status/status.h"
#include "lra/config.pb.h"
#include "train/objective.h"

namespace lra {

class StageCheckpoints {
 public:
  // Time counts from here, and on from what state.efficiency holds of earlier processes. Both must
  // outlive it.
  StageCheckpoints(const RuntimeConfig& runtime, const Stage& stage);

  // Whether runtime's steps or minutes have gone by, or the user asked (TakeSaveRequest).
  bool TakeDue();
  // Saves weights, moments and state, the latter with time, memory, threads and micro batch so far.
  // Then the newest runtime.keep_checkpoints stay, the best step's and the objective's kept step's.
  absl::Status Save();
  // A failure that was not of the model's making, with what is left on disk.
  absl::Status WithLatest(const absl::Status& status) const;

 private:
  using Clock = std::chrono::steady_clock;

  void AddEfficiency() const;
  void Prune() const;

  const RuntimeConfig& runtime_;
  const Stage& stage_;
  const double earlier_seconds_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point saved_at_ = begin_;
};

}  // namespace lra

#endif  // LRA_TRAIN_STAGE_CHECKPOINTS_H_
