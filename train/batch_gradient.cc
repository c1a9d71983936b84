#include "train/batch_gradient.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>

#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/base/upload_slots.h"
#include "models/next_token_model.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

// Adds how often each class occurs.
void AddCounts(const at::Tensor& classes, int64_t count, std::vector<int64_t>* counts) {
  counts->resize(count);
  const int64_t* values = classes.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < classes.numel(); ++i) ++(*counts)[values[i]];
}

// What cross_entropy_loss() passes over.
constexpr int64_t kNoLabel = -100;

struct Pass {
  at::Tensor logits, labels;  // [G, C], [G]
  at::Tensor loss;            // summed, []
};

Pass ForwardPass(const Classifier& model, const HostBatch& part,
                 const std::vector<at::Tensor>& moved, ForwardContext context) {
  const std::vector<at::Tensor> of_model(moved.begin(), moved.end() - 2);
  context.moved = &of_model;
  Pass pass = {model.Forward(part, context), moved.end()[-2], {}};
  pass.loss = at::cross_entropy_loss(pass.logits, pass.labels, {}, at::Reduction::Sum);
  return pass;
}

void AddPart(const Classifier& model, const HostBatch& part, int64_t classes,
             const ForwardContext& context, double divisor, BatchResult* result) {
  const std::vector<at::Tensor> moved =
      MoveTo(model.parameters().device(), LabelledOnHost(model, part, divisor), context.uploads);
  if (!moved.back().is_cpu())
    return AddTally(AddLabelGradient(model, part, moved, classes, context), result);
  const Pass pass = ForwardPass(model, part, moved, context);
  result->loss_sum += pass.loss.item<double>();
  if (!std::isfinite(result->loss_sum)) return;
  pass.loss.div(divisor).backward();
  const at::Tensor predicted = pass.logits.argmax(1);
  result->correct += predicted.eq(pass.labels).sum().item<int64_t>();
  if (classes > 0) AddCounts(predicted, classes, &result->predicted);
}

}  // namespace

double BatchWeight(const TrainConfig& train, int64_t split_examples, int64_t examples) {
  if (train.last_batch() != TrainConfig::BY_EXAMPLES) return 1;
  const int64_t whole = std::min<int64_t>(train.batch_examples(), split_examples);
  return static_cast<double>(examples) / static_cast<double>(whole);
}

std::vector<at::Tensor> LabelledOnHost(const Classifier& model, const HostBatch& batch,
                                       double divisor) {
  std::vector<at::Tensor> all = model.OnHost(batch, /*is_training=*/true);
  const int64_t rows = TrainingRows(batch, model.parameters().device());
  const at::Tensor labels = at::full({rows}, kNoLabel, at::kLong);
  std::copy(batch.labels.begin(), batch.labels.end(), labels.mutable_data_ptr<int64_t>());
  all.push_back(labels);
  // CUDA, too, divides by a number of the host in this way.
  all.push_back(at::full({}, 1 / static_cast<float>(divisor), at::kFloat));
  return all;
}

at::Tensor AddLabelGradient(const Classifier& model, const HostBatch& batch,
                            const std::vector<at::Tensor>& moved, int64_t classes,
                            const ForwardContext& context) {
  const Pass pass = ForwardPass(model, batch, moved, context);
  pass.loss.mul(moved.back()).backward();
  return TallyOnDevice(pass.loss, pass.logits, pass.labels, /*counts_classes=*/classes > 0);
}

BatchResult KnownOfBatch(const HostBatch& batch, int64_t classes) {
  BatchResult result;
  result.guesses = static_cast<int64_t>(batch.labels.size());
  result.tokens = CountTokens(batch);
  result.labels.resize(classes);
  if (classes > 0) {
    for (const int32_t label : batch.labels) ++result.labels[label];
  }
  return result;
}

absl::StatusOr<BatchResult> AddBatchGradient(const Classifier& model, const HostBatch& batch,
                                             int64_t micro_batch_examples, int64_t classes,
                                             const ForwardContext& context, double divisor) {
  BatchResult result = KnownOfBatch(batch, classes);
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    for (const HostBatch& part :
         SplitBatch(batch, micro_batch_examples, model.depends_on_padding())) {
      if (part.labels.empty()) continue;
      AddPart(model, part, classes, context, divisor, &result);
      if (!std::isfinite(result.loss_sum)) break;
    }
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace lra
