#include "models/attention/signed_features.h"

#include <ATen/ATen.h>

namespace lra {

Traits SignedTraits() {
  Traits traits;
  // Weights may be negative, and floored or counted rows do not sum to 1.
  traits.is_row_stochastic = false;
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.time_order = "N D^2";
  traits.memory_order = "N D";
  return traits;
}

at::Tensor SignedAttend(const AttentionInput& input, const LinearAttentionSpec& spec) {
  const at::Tensor output = LinearAttention(input.q, input.k, input.v, input.keep, spec);
  return spec.denominator == Denominator::kNone ? output / KeyCounts(input.k, input.keep) : output;
}

at::Tensor SignedOracle(const at::Tensor& query_features, const at::Tensor& key_features,
                        const AttentionInput& input, const LinearAttentionSpec& spec) {
  if (spec.denominator != Denominator::kNone) {
    return DenseSignedAverage(query_features, key_features, input.v, input.keep, spec.floor_ratio,
                              spec.epsilon);
  }
  at::Tensor weights = at::matmul(query_features, key_features.transpose(-1, -2)), v = input.v;
  at::Tensor keys = at::full({1, 1, 1, 1}, static_cast<double>(v.size(2)), v.options());
  if (input.keep.defined()) {
    const at::Tensor masked = input.keep.logical_not();
    weights = weights.masked_fill(masked.view({masked.size(0), 1, 1, -1}), 0);
    v = v.masked_fill(masked.view({masked.size(0), 1, -1, 1}), 0);
    keys = input.keep.to(v.scalar_type()).sum(1).view({-1, 1, 1, 1}).clamp_min(1);
  }
  return at::matmul(weights / keys, v);
}

}  // namespace lra
