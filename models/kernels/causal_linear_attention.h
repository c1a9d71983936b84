// The causal form of linear attention, computed by matrix products in chunks of kCausalChunkTokens,
// and its continuation piece by piece. Source: Katharopoulos et al. 2020 ("Transformers are RNNs"),
// eqs. 8-15, with the paper's prefix sums cut into chunks. Within a chunk, A = phi(q) phi(k)^T has
// a triangular mask; earlier chunks enter through the state S = sum phi(k_j) [v_j, 1]. The backward
// computes the states again: beside inputs and output it saves one or two numbers for each row, and
// it holds a state for each chunk while it runs.
//
// On the CPU float32 has tiles (TakesCausalTiles), in smaller chunks, whose backward makes two
// passes and holds one state. Else the host goes through the chunks one by one, which takes the
// least memory. A device takes all at once, in a number of operators that does not depend on N: it
// holds matrices of C x C for all T chunks of C tokens, and their T states, so O(N (C + D)) and
// O(T D Dv) numbers a head.
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

namespace internal {

// What the forward keeps for the backward.
struct CausalState {
  at::Tensor output;         // [B, H, N, Dv]
  at::Tensor row_sum;        // [B, H, N], before it is made safe
  at::Tensor key_sum_norms;  // [B, H, N]: |sum_{j <= i} phi(k_j)| for kSignedFloor, else undefined
};

struct CausalGradients {
  at::Tensor q, k, v;
  at::Tensor log_decay;  // undefined without decays
};

// The implementations of CausalLinearAttention() for N = Nk, for tests that compare them.
CausalState CausalForwardByChunk(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec);
CausalGradients CausalBackwardByChunk(const at::Tensor& gradient, const at::Tensor& q,
                                      const at::Tensor& k, const at::Tensor& v,
                                      const at::Tensor& keep, const LinearAttentionSpec& spec,
                                      const CausalState& state);
CausalState CausalForwardAtOnce(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const at::Tensor& keep, const LinearAttentionSpec& spec);
CausalGradients CausalBackwardAtOnce(const at::Tensor& gradient, const at::Tensor& q,
                                     const at::Tensor& k, const at::Tensor& v,
                                     const at::Tensor& keep, const LinearAttentionSpec& spec,
                                     const CausalState& state);

// The gradient of log_decay, of these sizes. w_ij holds exp(b_i - b_j) with b_i = log g_0 + .. +
// log g_i, and so d b_i = phi(q_i) . d phi(q_i) - phi(k_i) . d phi(k_i), [B, H, N]; log g_s is in
// every b_i with i >= s.
at::Tensor LogDecayGradient(const at::Tensor& of_positions, at::IntArrayRef sizes);

// Whether the tiles take this call, N = Nk: float32 on the CPU without signed floors, scaled states
// and chunks of its own, and with decays g of at most 1.
bool TakesCausalTiles(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const LinearAttentionSpec& spec);
// In parallel over (example, head); results do not depend on the number of threads.
CausalState CausalForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& keep, const LinearAttentionSpec& spec);
CausalGradients CausalBackwardTiled(const at::Tensor& gradient, const at::Tensor& q,
                                    const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, const LinearAttentionSpec& spec,
                                    const CausalState& state);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CAUSAL_LINEAR_ATTENTION_H_
