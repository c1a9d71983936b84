// The gradient of one batch with labels, computed whole or in parts that fit in memory.
#ifndef LRA_TRAIN_BATCH_GRADIENT_H_
#define LRA_TRAIN_BATCH_GRADIENT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "models/classifier.h"
#include "train/objective.h"

namespace lra {

// What the gradient of a batch of `examples` is multiplied by: 1, and with
// train.last_batch=BY_EXAMPLES its share of a whole batch, which a split of split_examples fills or
// is itself.
double BatchWeight(const TrainConfig& train, int64_t split_examples, int64_t examples);

// Objective::AddShare for the cross-entropy of the model.
absl::StatusOr<BatchResult> AddBatchGradient(const Classifier& model, const HostBatch& batch,
                                             int64_t micro_batch_examples,
                                             const ForwardContext& context, double divisor);

}  // namespace lra

#endif  // LRA_TRAIN_BATCH_GRADIENT_H_
