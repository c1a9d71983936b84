// The causal form of linear attention, computed by matrix products in chunks of kCausalChunkTokens,
// and its continuation piece by piece. Source: Katharopoulos et al. 2020 ("Transformers are RNNs"),
// eqs. 8-15, with the paper's prefix sums cut into chunks. Within a chunk, A = phi(q) phi(k)^T has
// a triangular mask; earlier chunks enter through the state S = sum phi(k_j) [v_j, 1]. The backward
// computes the states again: beside inputs and output it saves one or two numbers for each row, and
// it holds a state for each chunk while it runs.
#ifndef LRA_MODELS_KERNELS_CAUSAL_LINEAR_ATTENTION_H_
#define LRA_MODELS_KERNELS_CAUSAL_LINEAR_ATTENTION_H_

#include "models/kernels/linear_attention.h"

namespace lra {

// LinearAttention() with spec.causal; the shapes are the same.
at::Tensor CausalLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec);

// Computes the next T tokens of a sequence: q, k, v [B, H, T, D]. `state` [B, H, D, W] is the sum
// over the tokens before; it is undefined at first and is updated. Without gradients.
at::Tensor ExtendLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec,
                                 at::Tensor* state);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CAUSAL_LINEAR_ATTENTION_H_
