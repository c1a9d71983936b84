// The gradient of one batch with labels, computed whole or in parts that fit in memory.
#ifndef LRA_TRAIN_BATCH_GRADIENT_H_
#define LRA_TRAIN_BATCH_GRADIENT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "models/classifier.h"
#include "train/objective.h"

namespace lra {

// What the gradient of a batch of `examples` is multiplied by: 1, and with
// train.last_batch=BY_EXAMPLES its share of a whole batch, which a split of split_examples fills or
// is itself.
double BatchWeight(const TrainConfig& train, int64_t split_examples, int64_t examples);

// Objective::AddShare for the cross-entropy of the model. Counts guesses by class where `classes`
// is not 0.
absl::StatusOr<BatchResult> AddBatchGradient(const Classifier& model, const HostBatch& batch,
                                             int64_t micro_batch_examples, int64_t classes,
                                             const ForwardContext& context, double divisor);

// --- The same in two halves: what is of the host, and what a device does without it ---

// Classifier::OnHost of a training step; then batch.labels [G] int64, with some behind them that no
// loss counts where logits have more rows (TrainingRows); last what a device multiplies the summed
// loss by, float32 []: 1 / divisor.
std::vector<at::Tensor> LabelledOnHost(const Classifier& model, const HostBatch& batch,
                                       double divisor);
// The part of the result that needs no forward pass.
BatchResult KnownOfBatch(const HostBatch& batch, int64_t classes);
// Adds the gradient of a whole batch, of which `moved` is LabelledOnHost() on the model's device;
// returns the rest of the result (BatchResult::on_device). Throws as LibTorch does.
at::Tensor AddLabelGradient(const Classifier& model, const HostBatch& batch,
                            const std::vector<at::Tensor>& moved, int64_t classes,
                            const ForwardContext& context);

}  // namespace lra

#endif  // LRA_TRAIN_BATCH_GRADIENT_H_
