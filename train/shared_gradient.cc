#include "train/shared_gradient.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

// The places of a batch's sums in a row: these, then examples by label and by predicted class.
enum SumPlace { kLossSum, kGuessSum, kCorrectSum, kTokenSum, kStopSum, kFirstClassSum };

void ClearGradients(const ParameterStore& parameters) {
  for (const Parameter& parameter : parameters.parameters()) {
    at::Tensor value = parameter.value;
    value.mutable_grad() = at::Tensor();
  }
}

std::vector<int64_t> Counts(const double* values, int64_t count) {
  return std::vector<int64_t>(values, values + count);
}

}  // namespace

SharedGradient::SharedGradient(const Objective& objective, Ranks* ranks, bool is_exact)
    : objective_(objective),
      ranks_(ranks),
      is_exact_(is_exact),
      shards_(is_exact ? kExactShards : ranks->size()),
      rows_((shards_ + ranks->size() - 1) / ranks->size()) {}

// On the parameters' device, which is then copied from once.
at::Tensor SharedGradient::FlatGradient() const {
  std::vector<at::Tensor> flat;
  for (const Parameter& parameter : objective_.parameters().parameters()) {
    const at::Tensor& gradient = parameter.value.grad();
    flat.push_back(gradient.defined()
                       ? gradient.detach().reshape({-1})
                       : at::zeros({parameter.value.numel()}, parameter.value.detach().options()));
  }
  return at::cat(flat);
}

// Makes each parameter's gradient its piece of the flat one. What it was is let go first: a device
// need not hold both.
void SharedGradient::SpreadGradient(const at::Tensor& flat) const {
  for (const Parameter& parameter : objective_.parameters().parameters())
    at::Tensor(parameter.value).mutable_grad().reset();
  const at::Tensor there = flat.to(objective_.parameters().device());
  int64_t begin = 0;
  for (const Parameter& parameter : objective_.parameters().parameters()) {
    at::Tensor value = parameter.value;
    const int64_t count = value.numel();
    value.mutable_grad() = there.narrow(0, begin, count).view(value.sizes());
    begin += count;
  }
}

at::Tensor SharedGradient::Pack(const BatchResult& result) const {
  const int64_t classes = objective_.counted_classes();
  at::Tensor sums = at::zeros({kFirstClassSum + 2 * classes}, at::kDouble);
  double* const values = sums.mutable_data_ptr<double>();
  values[kLossSum] = result.loss_sum;
  values[kGuessSum] = static_cast<double>(result.guesses);
  values[kCorrectSum] = static_cast<double>(result.correct);
  values[kTokenSum] = static_cast<double>(result.tokens);
  // A batch whose loss is not finite has no predictions.
  for (size_t c = 0; c < result.labels.size(); ++c)
    values[kFirstClassSum + c] = static_cast<double>(result.labels[c]);
  for (size_t c = 0; c < result.predicted.size(); ++c)
    values[kFirstClassSum + classes + c] = static_cast<double>(result.predicted[c]);
  return sums;
}

BatchResult SharedGradient::Unpack(const at::Tensor& sums) const {
  const double* const values = sums.const_data_ptr<double>();
  const int64_t classes = objective_.counted_classes();
  BatchResult result;
  result.loss_sum = values[kLossSum];
  result.guesses = static_cast<int64_t>(values[kGuessSum]);
  result.correct = static_cast<int64_t>(values[kCorrectSum]);
  result.tokens = static_cast<int64_t>(values[kTokenSum]);
  result.labels = Counts(values + kFirstClassSum, classes);
  result.predicted = Counts(values + kFirstClassSum + classes, classes);
  return result;
}

absl::StatusOr<SharedGradient::Rows> SharedGradient::ComputeRows(
    const HostBatch& batch, int64_t micro_batch_examples, const ForwardContext& context) const {
  LRA_ASSIGN_OR_RETURN(const double divisor, objective_.Divisor(batch, context.step));
  const ParameterStore& parameters = objective_.parameters();
  const int64_t sums = kFirstClassSum + 2 * objective_.counted_classes();
  Rows rows = {at::zeros({rows_, parameters.count()}, at::kFloat),
               at::zeros({rows_, sums}, at::kDouble)};
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t shard = ranks_->rank() + row * ranks_->size();
    if (shard >= shards_ || shard >= batch.batch) continue;
    const HostBatch share = EveryNth(batch, shard, shards_, objective_.depends_on_padding());
    ClearGradients(parameters);
    LRA_ASSIGN_OR_RETURN(BatchResult result,
                         objective_.AddShare(share, divisor, micro_batch_examples, context));
    LRA_RETURN_IF_ERROR(CatchTorch([&] {
      result.Read();
      rows.gradients.select(0, row).copy_(FlatGradient());
      rows.sums.select(0, row).copy_(Pack(result));
      return absl::OkStatus();
    }));
  }
  return rows;
}

// Adds all shards' rows in the order of shards.
absl::StatusOr<at::Tensor> SharedGradient::AddInOrder(const at::Tensor& rows) const {
  LRA_ASSIGN_OR_RETURN(const at::Tensor all, ranks_->Gather(rows));  // [ranks, rows, ...]
  at::Tensor sum = all.select(0, 0).select(0, 0).clone();
  for (int64_t shard = 1; shard < shards_; ++shard)
    sum.add_(all.select(0, shard % ranks_->size()).select(0, shard / ranks_->size()));
  return sum;
}

// Leaves one row, that of the whole batch.
absl::Status SharedGradient::Reduce(Rows* rows) const {
  if (is_exact_) {
    LRA_ASSIGN_OR_RETURN(rows->sums, AddInOrder(rows->sums));
    LRA_ASSIGN_OR_RETURN(rows->gradients, AddInOrder(rows->gradients));
    return absl::OkStatus();
  }
  rows->sums = rows->sums.select(0, 0);
  rows->gradients = rows->gradients.select(0, 0);
  return ranks_->Sum({rows->sums, rows->gradients});
}

absl::StatusOr<BatchResult> SharedGradient::Add(const HostBatch& batch,
                                                int64_t micro_batch_examples,
                                                const ForwardContext& context, bool wants_stop) {
  any_wants_stop_ = wants_stop;
  if (is_whole()) return objective_.AddGradient(batch, micro_batch_examples, context);
  LRA_ASSIGN_OR_RETURN(Rows rows, ComputeRows(batch, micro_batch_examples, context));
  BatchResult result;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    const c10::NoGradGuard no_grad;
    if (wants_stop) rows.sums.select(0, 0).select(0, kStopSum).fill_(1);
    LRA_RETURN_IF_ERROR(Reduce(&rows));
    any_wants_stop_ = rows.sums.const_data_ptr<double>()[kStopSum] > 0;
    result = Unpack(rows.sums);
    SpreadGradient(rows.gradients);
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace lra
