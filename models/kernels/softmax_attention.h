// Exact softmax attention: softmax(q k^T / sqrt(D)) v over the kept keys.
#ifndef LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_
#define LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include "models/kernels/dropout.h"

namespace lra {

// q [B, H, N, D], k and v [B, H, Nk, D], keep [B, Nk] bool or undefined -> [B, H, N, D].
// Differentiable. Memory O(N): LibTorch's blocked kernel, without a mask where nothing is masked.
// NaN in masked keys and values has no effect; rows without keys are 0 with zero gradient. With
// weight dropout O(N Nk): a dense composition, since the blocked kernel has no counter-based masks.
at::Tensor SoftmaxAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, const DropoutKey& weight_dropout);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_
