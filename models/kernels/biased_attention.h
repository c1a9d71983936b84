// Softmax attention with an additive bias of each pair of positions, in tiles of queries.
#ifndef LRA_MODELS_KERNELS_BIASED_ATTENTION_H_
#define LRA_MODELS_KERNELS_BIASED_ATTENTION_H_

#include <ATen/core/Tensor.h>

namespace lra {

// o_i = sum_j softmax_j(q_i . k_j + bias_ij) v_j over the kept keys, causal: over those with j <= i
// + Nk - N. q [B, H, N, F] (scaled by the caller), k [B, H, Nk, F]; both undefined = 0. v [B, H,
// Nk, D], bias [H, N, Nk] or undefined = 0, keep [B, Nk] bool or undefined -> [B, H, N, D].
// Differentiable in q, k, v and bias. The logits of a tile of queries are made, and made again for
// the backward; nothing of size B N Nk is kept. NaN in masked keys and values has no effect; rows
// without keys are 0 with zero gradient.
at::Tensor BiasedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& bias, const at::Tensor& keep, bool causal);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_BIASED_ATTENTION_H_
