#include "train/batch_gradient.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
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
             double divisor, BatchResult* result) {
  const at::Tensor logits = model.Forward(part, context);  // [B, C]
  const at::Tensor labels =
      at::from_blob(const_cast<int32_t*>(part.labels.data()), {part.batch}, at::kInt).to(at::kLong);
  const at::Tensor there = labels.to(logits.device());
  const at::Tensor loss = at::cross_entropy_loss(logits, there, {}, at::Reduction::Sum);
  result->tokens += CountTokens(part);
  AddCounts(labels, logits.size(1), &result->labels);
  if (!loss.is_cpu()) {
    loss.div(divisor).backward();
    AddTally(TallyOnDevice(loss, logits, there, /*counts_classes=*/true), result);
    return;
  }
  result->loss_sum += loss.item<double>();
  if (!std::isfinite(result->loss_sum)) return;
  loss.div(divisor).backward();
  const at::Tensor predicted = logits.argmax(1);
  result->correct += predicted.eq(labels).sum().item<int64_t>();
  AddCounts(predicted, logits.size(1), &result->predicted);
}

}  // namespace

double BatchWeight(const TrainConfig& train, int64_t split_examples, int64_t examples) {
  if (train.last_batch() != TrainConfig::BY_EXAMPLES) return 1;
  const int64_t whole = std::min<int64_t>(train.batch_examples(), split_examples);
  return static_cast<double>(examples) / static_cast<double>(whole);
}

absl::StatusOr<BatchResult> AddBatchGradient(const Classifier& model, const HostBatch& batch,
                                             int64_t micro_batch_examples,
                                             const ForwardContext& context, double divisor) {
  BatchResult result;
  result.guesses = batch.batch;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    for (const HostBatch& part :
         SplitBatch(batch, micro_batch_examples, model.depends_on_padding())) {
      AddPart(model, part, context, divisor, &result);
      if (!std::isfinite(result.loss_sum)) break;
    }
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace lra
