// The training loop, which every stage of a run uses.
#ifndef LRA_TRAIN_LOOP_H_
#define LRA_TRAIN_LOOP_H_

#include "absl/status/status.h"
#include "train/objective.h"
#include "train/run.h"

namespace lra {

// Trains the stage from the step that its state has reached to its end, on batches of run.train.
// The best step, curve and sums go into the state, points into the stage's curve, and checkpoints
// into its folder (at evaluations and as run.request.runtime says). If the loss or the gradient is
// not finite: Internal, marked as diverged, with step, loss, examples and the first tensor that
// went bad; nothing is updated, and the state before that step with the failure and the curve up
// to it are kept. If an output is not finite in validation: the same error, with the example, and
// the state of the validated step is kept. After RequestStop(): Cancelled, and the state is saved.
// If a file cannot be written (a full disk), the stage ends with an error that names the last
// complete checkpoint.
absl::Status TrainStage(const Run& run, const Stage& stage);

}  // namespace lra

#endif  // LRA_TRAIN_LOOP_H_
