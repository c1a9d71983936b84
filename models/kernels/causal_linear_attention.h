// The causal form of linear attention in chunks of kCausalChunkTokens, all matrix products, and its
// continuation piece by piece.
// Source: Katharopoulos et al. 2020 ("Transformers are RNNs"), eqs. 8-15: the prefix sums of the
// paper cut into chunks. Within a chunk A = phi(q) phi(k)^T under a triangular mask, before it the
// state S = sum phi(k_j) [v_j, 1]. The backward makes the states again: beside inputs and output it
// saves a number or two for each row, and holds a state for each chunk while it runs.
#ifndef LRA_MODELS_KERNELS_CAUSAL_LINEAR_ATTENTION_H_
#define LRA_MODELS_KERNELS_CAUSAL_LINEAR_ATTENTION_H_

#include "models/kernels/linear_attention.h"

namespace lra {

// LinearAttention() with spec.causal; shapes as there.
at::Tensor CausalLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec);

// The next T tokens of a sequence: q, k, v [B, H, T, D]. state [B, H, D, W] is the sum over the
// tokens before, undefined at first, and moves on. Without gradients.
at::Tensor ExtendLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec,
                                 at::Tensor* state);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CAUSAL_LINEAR_ATTENTION_H_
