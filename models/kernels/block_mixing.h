// Mixtures of whole blocks of tokens, for Sinkhorn attention.
#ifndef LRA_MODELS_KERNELS_BLOCK_MIXING_H_
#define LRA_MODELS_KERNELS_BLOCK_MIXING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// What MixBlocks() returns, both [B, H, n block_tokens, D].
struct MixedBlocks {
  at::Tensor own;    // x itself
  at::Tensor mixed;  // y_n[s] = sum_m weights_nm x_m[s], where x_m[s] is token s of block m
};

// weights [B, H, n, n] and x [B, H, n block_tokens, D]. Differentiable once in both; who uses x
// through `own` has its gradient added to that of the mixtures in one pass. Works on any device and
// float type; it is fast in float32 on the CPU.
MixedBlocks MixBlocks(const at::Tensor& weights, const at::Tensor& x, int64_t block_tokens);

namespace internal {

// The mixtures by matmul() on copies whose blocks are rows.
at::Tensor MixBlocksGeneric(const at::Tensor& weights, const at::Tensor& x, int64_t block_tokens);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_BLOCK_MIXING_H_
