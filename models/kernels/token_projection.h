// Linear maps along the tokens: low-rank attentions mix N tokens into R.
#ifndef LRA_MODELS_KERNELS_TOKEN_PROJECTION_H_
#define LRA_MODELS_KERNELS_TOKEN_PROJECTION_H_

#include <ATen/core/Tensor.h>

namespace lra {

// sum_j map_rj x_j: map [R, N], [B, R, N] or [B, H, R, N] (B may be 1), x [B, H, N, D] -> [B, H, R,
// D]. Maps shared by the heads cost one product of width H D an example; a map shared by the
// examples, too, has tiles for float32 on the CPU.
at::Tensor ProjectTokens(const at::Tensor& map, const at::Tensor& x);

namespace internal {

at::Tensor ProjectTokensGeneric(const at::Tensor& map, const at::Tensor& x);

}  // namespace internal

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_TOKEN_PROJECTION_H_
