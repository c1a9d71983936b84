#include "models/weight_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention_weights.h"

namespace lra {
namespace {

constexpr double kHidden = -1e30;

AttentionInput InDouble(const AttentionInput& input) {
  AttentionInput wide = input;
  for (at::Tensor* const t : {&wide.q, &wide.k, &wide.v, &wide.x}) {
    if (t->defined()) *t = t->to(at::kDouble);
  }
  return wide;
}

}  // namespace

absl::StatusOr<WeightRows> WeightRows::Create(const Attention& attention,
                                              const AttentionInput& input) {
  const c10::NoGradGuard no_grad;
  LRA_CHECK(input.q.size(0) == 1 && input.q.size(2) == input.k.size(2));
  WeightRows rows(attention, InDouble(input));
  rows.features_ = attention.Features(rows.input_);
  if (rows.features_ || attention.traits().is_exact_softmax) return rows;
  LRA_ASSIGN_OR_RETURN(const at::Tensor weights, ImpliedWeights(attention, rows.input_));
  rows.all_ = weights[0];
  return rows;
}

bool WeightRows::IsByRows(const Attention& attention, const AttentionInput& input) {
  return attention.traits().is_exact_softmax || attention.Features(input).has_value();
}

at::Tensor WeightRows::Rows(int64_t first, int64_t count) const {
  const c10::NoGradGuard no_grad;
  if (all_.defined()) return all_.narrow(1, first, count);
  return features_ ? FeatureRows(first, count) : SoftmaxRows(first, count);
}

at::Tensor WeightRows::FeatureRows(int64_t first, int64_t count) const {
  at::Tensor rows = at::matmul(features_->query[0].narrow(1, first, count),
                               features_->key[0].transpose(1, 2));  // [H, count, N]
  if (features_->log_decay.defined()) {
    // g of the first token stands in no product.
    const at::Tensor from_start = features_->log_decay[0].cumsum(-1);  // [H, N]
    rows = rows *
           at::exp(
               -(from_start.narrow(1, first, count).unsqueeze(-1) - from_start.unsqueeze(1)).abs());
  }
  return features_->is_causal ? rows.tril(first) : rows;
}

at::Tensor WeightRows::SoftmaxRows(int64_t first, int64_t count) const {
  at::Tensor scores = at::matmul(input_.q[0].narrow(1, first, count), input_.k[0].transpose(1, 2)) /
                      std::sqrt(static_cast<double>(input_.q.size(3)));  // [H, count, N]
  const auto options = at::TensorOptions(scores.device()).dtype(at::kLong);
  const at::Tensor ahead = at::arange(tokens(), options).unsqueeze(0) -
                           at::arange(first, first + count, options).unsqueeze(1);  // j - i
  if (const std::vector<double>& slopes = attention_->traits().distance_slopes; !slopes.empty())
    scores = scores - at::tensor(slopes, scores.options()).view({-1, 1, 1}) * ahead.abs();
  at::Tensor hidden = ahead > 0;
  if (!input_.causal) hidden = hidden.logical_and(hidden.logical_not());
  if (input_.keep.defined()) hidden = hidden.logical_or(input_.keep[0].logical_not().unsqueeze(0));
  // A row that sees no key has no weight.
  return at::softmax(scores.masked_fill(hidden, kHidden), -1).masked_fill(hidden, 0);
}

at::Tensor WeightRows::Counted(const at::Tensor& rows) const {
  return input_.keep.defined() ? rows.index_select(-2, input_.keep[0].nonzero().squeeze(-1)) : rows;
}

absl::StatusOr<at::Tensor> WeightRows::SingularValues() const {
  const c10::NoGradGuard no_grad;
  if (has_low_rank()) {
    // W = (Q_q R_q) (Q_k R_k)^T has the singular values of R_q R_k^T, which is F x F.
    const auto triangle = [](const at::Tensor& features) {
      return std::get<1>(at::linalg_qr(features, "r"));
    };
    const at::Tensor query = triangle(Counted((features_->query * features_->scale)[0]));
    const at::Tensor key = triangle(features_->key[0]);
    return at::linalg_svdvals(at::matmul(query, key.transpose(1, 2)));
  }
  if (all_.defined()) return at::linalg_svdvals(Counted(all_));
  LRA_ASSIGN_OR_RETURN(const at::Tensor weights, ImpliedWeights(*attention_, input_));
  return at::linalg_svdvals(Counted(weights[0]));
}

}  // namespace lra
