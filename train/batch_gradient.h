// The gradient of one batch with labels, computed whole or in parts that fit in memory.
#ifndef LRA_TRAIN_BATCH_GRADIENT_H_
#define LRA_TRAIN_BATCH_GRADIENT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "models/classifier.h"
#include "train/objective.h"

namespace lra {

// Objective::AddGradient for the mean cross-entropy of the model.
absl::StatusOr<BatchResult> AddBatchGradient(const Classifier& model, const HostBatch& batch,
                                             int64_t micro_batch_examples,
                                             const ForwardContext& context);

}  // namespace lra

#endif  // LRA_TRAIN_BATCH_GRADIENT_H_
