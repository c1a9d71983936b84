// The core of linear-time attention, factorised: feature map x re-weighting x denominator. Every
// method of the family is a named point; forward and backward are written by hand and save q, k, v,
// the output and O(N + D^2) numbers.
//
//   o_i = sum_j w_ij v_j / den_i,  den_i = safe(sum_j w_ij),
//   w_ij = phi(q_i) . phi(k_j) * cos(alpha_i - alpha_j) * prod_{j < s <= i} g_s
// (the cosine only with angles, the product only with a decay)
//
// Numerator and denominator come from one product, with a column of ones appended to v; the cosine
// costs one product with [cos v | sin v], not a concatenation of q and k.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_H_

#include <ATen/core/Tensor.h>

namespace lra {

enum class FeatureMap {
  kEluPlusOne,
  kRelu,
  kLeakyRelu,
  kIdentity,
  kUnit,  // x / sqrt(|x|^2 + norm_epsilon), 0 for 0 / 0: the whole row at once
};

enum class Denominator {
  kPlus,   // sum + epsilon
  kClamp,  // max(sum, epsilon); no gradient where clamped
  // For weights of both signs: a sum nearer to zero than
  // max(epsilon, floor_ratio |phi(q_i)| |sum_j phi(k_j)|) is replaced by that floor with the sum's
  // sign (+ for 0), without gradient. The ratio bounds the cosine between phi(q_i) and the keys'
  // sum, so scaling q or k does not change which rows are floored.
  kSignedFloor,
  kNone,  // 1: o_i is the weighted sum itself
};

struct LinearAttentionSpec {
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  double leaky_slope = 0.01;   // kLeakyRelu
  double norm_epsilon = 1e-6;  // kUnit
  Denominator denominator = Denominator::kPlus;
  double epsilon = 1e-6;
  at::Tensor floors;          // kClamp, not causal: [B], each example's own instead of epsilon
  double floor_ratio = 0.01;  // kSignedFloor
  // Re-weighting angles, float64: [N] and [Nk], or [B, N] and [B, Nk]. Undefined = none.
  at::Tensor query_angles;
  at::Tensor key_angles;
  // o_i sums over j <= i + Nk - N.
  bool causal = false;
  // Causal only. log g, [B or 1, H, N]: w_ij is multiplied by the product of g_s, j < s <= i.
  // Differentiable; N = Nk.
  at::Tensor log_decay;
  // Causal only. [B, H, chunks of kCausalChunkTokens, D]: the sum over earlier chunks is multiplied
  // by it, feature by feature, on entering a chunk; for features scaled chunk by chunk. Constant.
  at::Tensor state_scale;
};

constexpr int64_t kCausalChunkTokens = 128;

// q [B, H, N, D], k [B, H, Nk, D], v [B, H, Nk, Dv], keep [B, Nk] bool or undefined -> [B, H, N,
// Dv], laid out as [B, N, H, Dv]. Masked keys are selected away after the feature map, so NaN in
// them has no effect, on gradients neither. Rows without keys are 0 with zero gradient. Any device
// and float type; float32 on the CPU is fast.
at::Tensor LinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& keep, const LinearAttentionSpec& spec);

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
