// For oracles of sparse patterns: dense softmax attention under any mask of pairs.
#ifndef LRA_MODELS_KERNELS_PATTERN_ORACLE_H_
#define LRA_MODELS_KERNELS_PATTERN_ORACLE_H_

#include <ATen/core/Tensor.h>

#include "models/kernels/dropout.h"

namespace lra {

// q [B, H, N, D], k and v [B, H, Nk, D], keep [B, Nk] bool or undefined -> [B, H, N, D]:
// softmax(q k^T / sqrt(D)) v over the pairs (bool, broadcastable to [B, H, N, Nk]) with kept keys,
// times WeightDropoutMask(). O(N Nk), differentiated by autograd, any type.
at::Tensor DensePatternAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const at::Tensor& pairs,
                                 const DropoutKey& weight_dropout);

// The same for given logits [B, H, N, Nk].
at::Tensor DenseMaskedSoftmax(const at::Tensor& logits, const at::Tensor& v, const at::Tensor& keep,
                              const at::Tensor& pairs, const DropoutKey& weight_dropout);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_PATTERN_ORACLE_H_
