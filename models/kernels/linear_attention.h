// The core of linear-time attention, factorised: feature map x re-weighting x denominator. Every
// method of the family is a named point; forward and backward are written by hand and save q, k, v,
// the output and O(N + D^2) numbers.
//
//   o_i = sum_j w_ij v_j / den_i,  den_i = safe(sum_j w_ij),
//   w_ij = phi(q_i) . phi(k_j) * cos(alpha_i - alpha_j)        (the cosine only with angles)
//
// Numerator and denominator come from one product, with a column of ones appended to v; the cosine
// costs one product with [cos v | sin v], not a concatenation of q and k.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_

#include <ATen/core/Tensor.h>

namespace lra {

enum class FeatureMap { kEluPlusOne, kRelu, kLeakyRelu, kIdentity };

enum class Denominator {
  kPlus,   // sum + epsilon
  kClamp,  // max(sum, epsilon); no gradient where clamped
};

struct LinearAttentionSpec {
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  double leaky_slope = 0.01;
  Denominator denominator = Denominator::kPlus;
  double epsilon = 1e-6;
  // Re-weighting angles, float64: [N] and [Nk], or [B, N] and [B, Nk]. Undefined = none.
  at::Tensor query_angles;
  at::Tensor key_angles;
};

// q [B, H, N, D], k [B, H, Nk, D], v [B, H, Nk, Dv], keep [B, Nk] bool or undefined -> [B, H, N,
// Dv], laid out as [B, N, H, Dv]. Masked keys are selected away after the feature map, so NaN in
// them has no effect, on gradients neither. Rows without keys are 0 with zero gradient. Any device
// and float type; float32 on the CPU is fast.
at::Tensor LinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& keep, const LinearAttentionSpec& spec);

// For oracles: weights [B, H, N, Nk] of any kind -> their masked, normalised average of v; O(N Nk),
// by autograd.
at::Tensor DenseWeightedAverage(const at::Tensor& weights, const at::Tensor& v,
                                const at::Tensor& keep, Denominator denominator, double epsilon);

namespace internal {

// What forward leaves for backward.
struct LinearAttentionState {
  at::Tensor output;     // [B, H, N, Dv]
  at::Tensor row_sum;    // [B, H, N]: before it is made safe
  at::Tensor key_state;  // [B, H, D, W]: sum_j phi(k_j) [v_j, 1] (with angles: the cosine and the
                         // sine part side by side)
};

struct LinearAttentionGradients {
  at::Tensor q, k, v;
};

// The two implementations behind LinearAttention(), for tests that hold one against the other.
LinearAttentionState ForwardGeneric(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, const LinearAttentionSpec& spec);
LinearAttentionGradients BackwardGeneric(const at::Tensor& gradient, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v,
                                         const at::Tensor& keep, const LinearAttentionSpec& spec,
                                         const LinearAttentionState& state);
// float32 on the CPU: tiles of tokens, parallel over (example, head), no race and so the same for
// any thread count.
LinearAttentionState ForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const at::Tensor& keep, const LinearAttentionSpec& spec);
LinearAttentionGradients BackwardTiled(const at::Tensor& gradient, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const at::Tensor& keep, const LinearAttentionSpec& spec,
                                       const LinearAttentionState& state);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_
