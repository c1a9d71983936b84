// The definition of linear attention, written with N x N weights and differentiated by LibTorch:
// what the tests of its forms hold them against.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_DEFINITION_TEST_UTIL_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_DEFINITION_TEST_UTIL_H_

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include "models/kernels/linear_attention.h"

namespace lra::linear_attention_test {

using internal::CausalGradients;
using internal::CausalState;
using internal::LinearAttentionGradients;
using internal::LinearAttentionState;

inline at::Tensor Phi(const at::Tensor& x, const LinearAttentionSpec& spec) {
  switch (spec.feature_map) {
    case FeatureMap::kEluPlusOne:
      return at::elu(x) + 1;
    case FeatureMap::kRelu:
      return x.relu();
    case FeatureMap::kLeakyRelu:
      return at::leaky_relu(x, spec.leaky_slope);
    case FeatureMap::kIdentity:
      return x;
    case FeatureMap::kUnit:
      return x / (x.square().sum(-1, true) + spec.norm_epsilon).sqrt();
  }
  return x;
}

// What multiplies phi(q_i) . phi(k_j), [B or 1, H or 1, N, Nk], but for the cosine.
inline at::Tensor Factors(const at::Tensor& q, const at::Tensor& k, const at::Tensor& keep,
                          const LinearAttentionSpec& spec) {
  at::Tensor factors = at::ones({1, 1, q.size(2), k.size(2)}, q.options());
  if (spec.causal) factors = factors.tril(k.size(2) - q.size(2));
  if (keep.defined()) factors = factors * keep.to(q.options()).view({keep.size(0), 1, 1, -1});
  if (spec.log_decay.defined()) {
    const at::Tensor sums = spec.log_decay.cumsum(-1);
    factors = factors * (sums.unsqueeze(-1) - sums.unsqueeze(-2)).tril().exp();
  }
  return factors;
}

inline at::Tensor AngleRows(const at::Tensor& angles) {  // [B or 1, 1, N]
  return angles.view({-1, 1, angles.size(-1)});
}

// |sum_j factor_ij phi(k_j)|, with angles of the rotated features: [B, H, N, 1].
inline at::Tensor KeySumNorms(const at::Tensor& keys, const at::Tensor& factors,
                              const LinearAttentionSpec& spec) {
  if (!spec.key_angles.defined()) return at::matmul(factors, keys).norm(2, -1, true);
  const at::Tensor angles = AngleRows(spec.key_angles).unsqueeze(-1);
  return at::matmul(factors, at::cat({keys * angles.cos(), keys * angles.sin()}, -1))
      .norm(2, -1, true);
}

inline at::Tensor Definition(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const at::Tensor& keep, const LinearAttentionSpec& spec) {
  const at::Tensor queries = Phi(q, spec), keys = Phi(k, spec), factors = Factors(q, k, keep, spec);
  at::Tensor weights = at::matmul(queries, keys.transpose(-1, -2)) * factors;
  if (spec.query_angles.defined()) {
    weights = weights * at::cos(AngleRows(spec.query_angles).unsqueeze(-1) -
                                AngleRows(spec.key_angles).unsqueeze(-2));
  }
  const at::Tensor sum = weights.sum(-1, true), output = at::matmul(weights, v);
  switch (spec.denominator) {
    case Denominator::kPlus:
      return output / (sum + spec.epsilon);
    case Denominator::kClamp:
      if (!spec.floors.defined()) return output / sum.clamp_min(spec.epsilon);
      return output / at::maximum(sum, spec.floors.view({-1, 1, 1, 1}));
    case Denominator::kSignedFloor: {
      const at::Tensor floors =
          (queries.norm(2, -1, true) * KeySumNorms(keys, factors, spec) * spec.floor_ratio)
              .clamp_min(spec.epsilon)
              .detach();
      return output / at::where(sum.abs() >= floors, sum, at::where(sum < 0, -floors, floors));
    }
    case Denominator::kNone:
      return output;
  }
  return output;
}

}  // namespace lra::linear_attention_test

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_DEFINITION_TEST_UTIL_H_
