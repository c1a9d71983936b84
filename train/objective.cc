#include "train/objective.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include "lra/status_macros.h"

namespace lra {

void BatchResult::Read() {
  if (!on_device.defined()) return;
  const at::Tensor known = on_device.cpu();
  on_device = at::Tensor();
  const double* values = known.const_data_ptr<double>();
  loss_sum += values[0];
  correct += static_cast<int64_t>(values[1]);
  if (known.numel() > 2) predicted.resize(known.numel() - 2);
  for (int64_t c = 2; c < known.numel(); ++c) predicted[c - 2] += static_cast<int64_t>(values[c]);
}

void AddTally(const at::Tensor& tally, BatchResult* result) {
  result->on_device = result->on_device.defined() ? result->on_device + tally : tally;
}

at::Tensor TallyOnDevice(const at::Tensor& loss, const at::Tensor& logits,
                         const at::Tensor& targets, bool counts_classes) {
  const c10::NoGradGuard no_gradient;
  const at::Tensor guesses = logits.argmax(1);
  const at::Tensor tally = at::stack({loss.to(at::kDouble), guesses.eq(targets).sum(at::kDouble)});
  if (!counts_classes) return tally;
  const at::Tensor classes = at::arange(logits.size(1), targets.options());
  return at::cat({tally, guesses.unsqueeze(1).eq(classes).sum({0}, false, at::kDouble)});
}

absl::StatusOr<BatchResult> Objective::AddGradient(const HostBatch& batch,
                                                   int64_t micro_batch_examples,
                                                   const ForwardContext& context) const {
  LRA_ASSIGN_OR_RETURN(const double divisor, Divisor(batch, context.step));
  return AddShare(batch, divisor, micro_batch_examples, context);
}

std::string Objective::Reference(const CheckpointState&) const { return ""; }

Sums Objective::TrainingSums(const RunningSums& running) const {
  Sums sums;
  (*sums.mutable_counts())[kTargets] = running.examples();
  (*sums.mutable_counts())[kCorrect] = running.correct();
  (*sums.mutable_totals())[kNats] = running.loss_sum();
  return sums;
}

}  // namespace lra
