// Finds out where numbers stopped being finite in a step.
#ifndef LRA_TRAIN_FIRST_BAD_H_
#define LRA_TRAIN_FIRST_BAD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "datasets/host_batch.h"
#include "run_folder/checkpoint_state.pb.h"
#include "train/objective.h"
#include "train/step_sums.h"

namespace lra {

// Names the first tensor with an infinity or a NaN, in the order parameters, activations of a
// forward pass over the batch (in the same parts as in the step), logits, gradients: "parameter
// embedding.token.weight (3 of 640 values, the first at 17)". Empty if all are finite, which means
// that the loss itself overflowed.
std::string FirstBadTensor(const Objective& objective, const HostBatch& batch,
                           int64_t micro_batch_examples, int64_t step);

// DivergedError() of the stage at state.step(): its name, the cause, and what usually helps.
absl::Status DivergedStage(const Objective& objective, const CheckpointState& state,
                           absl::string_view cause);

// The same of a step that was not taken because its loss or the norm of its gradient is not finite:
// the first bad tensor is named as FirstBadTensor() does.
absl::Status DivergedByStep(const Objective& objective, const CheckpointState& state,
                            const HostBatch& batch, int64_t micro_batch_examples,
                            const StepResult& result, double learning_rate);

// The same of an error with IsNotFinite() (eval/scorer.h), which the model gave when it was scored
// at state.step(); its parameters are searched for the first bad one.
absl::Status DivergedByOutput(const Objective& objective, const CheckpointState& state,
                              const absl::Status& output);

}  // namespace lra

#endif  // LRA_TRAIN_FIRST_BAD_H_
