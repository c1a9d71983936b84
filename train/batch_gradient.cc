#include "train/batch_gradient.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>

#include <cmath>

#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

// Adds how often each class occurs.
void AddCounts(const at::Tensor& classes, int64_t count, std::vector<int64_t>* counts) {
  counts->resize(count);
  const int64_t* values = classes.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < classes.numel(); ++i) ++(*counts)[values[i]];
}

void AddPart(const Classifier& model, const HostBatch& part, const ForwardContext& context,
             BatchResult* result) {
  const at::Tensor logits = model.Forward(part, context);  // [B, C]
  const at::Tensor labels =
      at::from_blob(const_cast<int32_t*>(part.labels.data()), {part.batch}, at::kInt).to(at::kLong);
  const at::Tensor loss =
      at::cross_entropy_loss(logits, labels.to(logits.device()), {}, at::Reduction::Sum);
  result->loss_sum += loss.item<double>();
  if (!std::isfinite(result->loss_sum)) return;
  loss.div(static_cast<double>(result->guesses)).backward();
  const at::Tensor predicted = logits.argmax(1).cpu();
  result->correct += predicted.eq(labels).sum().item<int64_t>();
  AddCounts(labels, logits.size(1), &result->labels);
  AddCounts(predicted, logits.size(1), &result->predicted);
  result->tokens += CountTokens(part);
}

}  // namespace

absl::StatusOr<BatchResult> AddBatchGradient(const Classifier& model, const HostBatch& batch,
                                             int64_t micro_batch_examples,
                                             const ForwardContext& context) {
  BatchResult result;
  result.guesses = batch.batch;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    for (const HostBatch& part :
         SplitBatch(batch, micro_batch_examples, model.depends_on_padding())) {
      AddPart(model, part, context, &result);
      if (!std::isfinite(result.loss_sum)) break;
    }
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace lra
