// The training loop: every stage of a run goes through it.
#ifndef LRA_TRAIN_LOOP_H_
#define LRA_TRAIN_LOOP_H_

#include "absl/status/status.h"
#include "train/objective.h"
#include "train/run.h"

namespace lra {

// Trains the stage from where its state stands to its end, on run.train's batches; the best step,
// curve and sums go into the state, points into the stage's curve, checkpoints into its folder (at
// evaluations and as run.request.runtime says). Internal, marked as diverged, with step, loss,
// examples and the first tensor that went bad when the loss or the gradient is not finite (nothing
// is updated; the state before that step, the curve up to it and the message, in kFailureFile, are
// kept). Cancelled after RequestStop(): the state is saved. A file
// that cannot be written (a full disk) ends the stage and names the checkpoint that is whole.
absl::Status TrainStage(const Run& run, const Stage& stage);

}  // namespace lra

#endif  // LRA_TRAIN_LOOP_H_
