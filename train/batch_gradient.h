// The gradient of one batch, whole or in parts that fit in memory.
#ifndef LRA_TRAIN_BATCH_GRADIENT_H_
#define LRA_TRAIN_BATCH_GRADIENT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "models/classifier.h"

namespace lra {

// Sums over the examples of a batch.
struct BatchResult {
  double loss_sum = 0;
  int64_t examples = 0;
  int64_t correct = 0;
  int64_t tokens = 0;
  std::vector<int64_t> labels, predicted;  // by class
};

// Adds the gradient of the batch's mean cross-entropy to the model's parameters, with forward
// passes of at most micro_batch_examples examples (0 = all at once). Parts change the order of sums
// only: dropout is keyed by example. With BATCH norm the parts' statistics would differ; the caller
// refuses that (CheckMicroBatch). Stops after the first part whose loss is not finite.
// ResourceExhausted when memory runs out.
absl::StatusOr<BatchResult> AddBatchGradient(const Classifier& model, const HostBatch& batch,
                                             int64_t micro_batch_examples,
                                             const ForwardContext& context);

}  // namespace lra

#endif  // LRA_TRAIN_BATCH_GRADIENT_H_
