// What a stage sums up of its steps between curve points.
#ifndef LRA_TRAIN_STEP_SUMS_H_
#define LRA_TRAIN_STEP_SUMS_H_

#include "run_folder/checkpoint_state.pb.h"
#include "train/objective.h"

namespace lra {

struct StepResult {
  BatchResult batch;
  double gradient_norm = 0;
};

// Adds a step to state->sums, and its mean loss to the recent ones that a failure is shown with.
void CountStep(const StepResult& step, CheckpointState* state);

}  // namespace lra

#endif  // LRA_TRAIN_STEP_SUMS_H_
