// What a stage sums up of its steps between curve points.
#ifndef LRA_TRAIN_STEP_SUMS_H_
#define LRA_TRAIN_STEP_SUMS_H_

#include <string>

#include "run_folder/checkpoint_state.pb.h"
#include "train/objective.h"

namespace lra {

struct StepResult {
  BatchResult batch;
  double gradient_norm = 0;
};

// Adds a step to state->sums, and its mean loss to the recent ones that a failure is shown with.
void CountStep(const StepResult& step, CheckpointState* state);

// What the line of progress says of a stage: "loss 1.204  accuracy 51.2 %  memory 310 MB".
std::string DescribeProgress(const Objective& objective, const CheckpointState& state);

}  // namespace lra

#endif  // LRA_TRAIN_STEP_SUMS_H_
