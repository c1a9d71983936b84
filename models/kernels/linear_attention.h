// The core of linear attention, factorised into feature map, re-weighting and denominator. Every
// method of the family is one choice of these. Forward and backward are written by hand; they save
// q, k, v, the output and O(N + D^2) numbers.
//
//   o_i = sum_j w_ij v_j / den_i,  den_i = safe(sum_j w_ij),
//   w_ij = phi(q_i) . phi(k_j) * cos(alpha_i - alpha_j) * prod_{j < s <= i} g_s
//   (the cosine only with angles, the product only with a decay)
//
// In tiles, numerator and denominator come from one product, because a column of ones is appended
// to v. The cosine takes one product with [cos v | sin v] and no concatenation of q and k. The
// generic form is made for a device: see linear_attention_chunks.h.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "models/base/product_type.h"

namespace lra {

enum class FeatureMap {
  kEluPlusOne,
  kRelu,
  kLeakyRelu,
  kIdentity,
  kUnit,  // x / sqrt(|x|^2 + norm_epsilon), and 0 for 0 / 0; depends on the whole row
};

enum class Denominator {
  kPlus,   // sum + epsilon
  kClamp,  // max(sum, epsilon); without gradient where clamped
  // For weights of both signs. If a sum is nearer to zero than max(epsilon, floor_ratio |phi(q_i)|
  // |sum_j phi(k_j)|), it is replaced by that floor with the sum's sign (+ for 0), without
  // gradient. The ratio bounds the cosine between phi(q_i) and the keys' sum, so scaling q or k
  // does not change which rows are floored.
  kSignedFloor,
  kNone,  // no division: o_i is the weighted sum itself
};

struct LinearAttentionSpec {
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  double leaky_slope = 0.01;   // for kLeakyRelu
  double norm_epsilon = 1e-6;  // for kUnit
  Denominator denominator = Denominator::kPlus;
  double epsilon = 1e-6;
  at::Tensor floors;  // for kClamp, not causal: [B], a value for each example instead of epsilon
  double floor_ratio = 0.01;  // for kSignedFloor
  // Re-weighting angles, float64: [N] and [Nk], or [B or 1, N] and [B or 1, Nk]. Undefined = none.
  at::Tensor query_angles;
  at::Tensor key_angles;
  // o_i sums over j <= i + Nk - N.
  bool causal = false;
  // For the causal form: log g, [B or 1, H, N]. w_ij is multiplied by the product of g_s over j < s
  // <= i. Differentiable; N = Nk.
  at::Tensor log_decay;
  // For the causal form: [B, H, chunks, D]. On entering a chunk, the sum over earlier chunks is
  // multiplied by it, feature by feature; used for features that are scaled chunk by chunk. It gets
  // no gradient.
  at::Tensor state_scale;
  // For the causal form on the CPU, N = Nk: the tokens at which chunks begin, from 0 on. Empty: at
  // every kCausalChunkTokens-th.
  std::vector<int64_t> chunk_starts;
};

constexpr int64_t kCausalChunkTokens = 128;

// Row sums nearer to 0 than this count as those of rows without keys: their terms underflow, and
// their inverses overflow in the backward, where an upstream gradient of 0 would become NaN.
template <class Float>
inline constexpr Float kSmallestRowSum =
    std::numeric_limits<Float>::min() / std::numeric_limits<Float>::epsilon();
inline double SmallestRowSum(const at::Tensor& sums) {
  return sums.scalar_type() == at::kDouble ? kSmallestRowSum<double> : kSmallestRowSum<float>;
}

// q [B, H, N, D], k [B, H, Nk, D], v [B, H, Nk, Dv], keep [B, Nk] bool or undefined -> [B, H, N,
// Dv], laid out as [B, N, H, Dv]. Masked keys are left out after the feature map, so NaN in them
// affects neither output nor gradients. Rows without keys are 0 with zero gradient. Works on any
// device and float type; it is fast in float32 on the CPU.
at::Tensor LinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& keep, const LinearAttentionSpec& spec);

namespace internal {

// What the forward keeps for the backward.
struct LinearAttentionState {
  at::Tensor output;   // [B, H, N, Dv]
  at::Tensor row_sum;  // [B, H, N], before it is made safe; generic: undefined for kNone
  // The sums over keys. Tiles: [B, H, D, W] of phi(k_j) [v_j, 1], with angles the cosine and the
  // sine part side by side, with zeros up to whole vectors. Generic: [B H, Dv + 1, F] of [v_j, 1]
  // phi(k_j), F = D or, with angles, 2 D for [cos phi, sin phi]; no 1 where nothing is divided.
  at::Tensor key_state;
  ProductType products = ProductType::kFloat32;  // of the tiles
};

struct LinearAttentionGradients {
  at::Tensor q, k, v;
};

// The two implementations of LinearAttention(), for tests that compare them.
LinearAttentionState ForwardGeneric(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, const LinearAttentionSpec& spec);
LinearAttentionGradients BackwardGeneric(const at::Tensor& gradient, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v,
                                         const at::Tensor& keep, const LinearAttentionSpec& spec,
                                         const LinearAttentionState& state);
// For float32 on the CPU: works on tiles of tokens, in parallel over (example, head). Results do
// not depend on the number of threads. The forward multiplies as ActiveProductType() says, the
// backward as its forward did.
LinearAttentionState ForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const at::Tensor& keep, const LinearAttentionSpec& spec);
LinearAttentionGradients BackwardTiled(const at::Tensor& gradient, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const at::Tensor& keep, const LinearAttentionSpec& spec,
                                       const LinearAttentionState& state);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_
