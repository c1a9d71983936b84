// Finds out where numbers stopped being finite in a step.
#ifndef LRA_TRAIN_FIRST_BAD_H_
#define LRA_TRAIN_FIRST_BAD_H_

#include <string>

#include "datasets/host_batch.h"
#include "train/objective.h"

namespace lra {

// Names the first tensor with an infinity or a NaN, in the order parameters, activations of a
// forward pass over the batch (in the same parts as in the step), logits, gradients: "parameter
// embedding.token.weight (3 of 640 values, the first at 17)". Empty if all are finite, which means
// that the loss itself overflowed.
std::string FirstBadTensor(const Objective& objective, const HostBatch& batch,
                           int64_t micro_batch_examples, int64_t step);

}  // namespace lra

#endif  // LRA_TRAIN_FIRST_BAD_H_
