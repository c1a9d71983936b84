// Exact softmax attention within consecutive blocks of tokens, for local attention and Sinkhorn.
#ifndef LRA_MODELS_KERNELS_BLOCK_ATTENTION_H_
#define LRA_MODELS_KERNELS_BLOCK_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lra {

// N keys and values, as many as there are queries.
struct BlockKeys {
  at::Tensor k, v;  // [B, H, N, D], [B, H, N, Dv]
  at::Tensor keep;  // [B, N] bool; undefined = all
};

// q [B, H, N, D] -> [B, H, N, Dv]: softmax(q k^T / sqrt(D)) v, where the queries of a block of
// `block_tokens` see the kept keys of the same block, in one set of keys, or in two sets under one
// softmax. With `causal`, they see only those keys of the first set that are not after them. The
// last block may be short. Differentiable once. NaN in masked keys and values has no effect; rows
// without keys are 0 with zero gradient. The backward keeps the inputs only. Works on any device,
// float type and block size; it is fast in float32 on the CPU with blocks of up to 256.
at::Tensor BlockAttention(const at::Tensor& q, const std::vector<BlockKeys>& keys,
                          int64_t block_tokens, bool causal);

namespace internal {

// Computed by SoftmaxAttention() or, if causal with two sets, by ATen's operations on stored
// weights.
at::Tensor BlockAttentionGeneric(const at::Tensor& q, const std::vector<BlockKeys>& keys,
                                 int64_t block_tokens, bool causal);

// For float32 on the CPU and blocks of any size. The backward returns dq, and then dk and dv of
// each set. Results do not depend on the number of threads.
at::Tensor BlockAttentionForwardTiled(const at::Tensor& q, const std::vector<BlockKeys>& keys,
                                      int64_t block_tokens, bool causal);
std::vector<at::Tensor> BlockAttentionBackwardTiled(const at::Tensor& upstream, const at::Tensor& q,
                                                    const std::vector<BlockKeys>& keys,
                                                    int64_t block_tokens, bool causal);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_BLOCK_ATTENTION_H_
