// Exact softmax attention: softmax(q k^T / sqrt(D) + bias) v over the keys that a query may see, in
// memory linear in N. Online softmax over tiles after Milakov & Gimelshein 2018 and Dao et al.
// 2022.
#ifndef LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_
#define LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include "models/kernels/dropout.h"

namespace lra {

// q [B, H, N, D], k [B, H, Nk, D], v [B, H, Nk, Dv], keep [B, Nk] bool or undefined ->
// [B, H, N, Dv], laid out [B, N, H, Dv]; any strides, widths and float types. Differentiable once.
// With `causal` query i sees keys j <= i + Nk - N only. `bias` [H, N, Nk] (undefined = none) is
// added to the scaled products of every example; its gradient is summed over the examples.
// The masks of weight dropout are WeightDropoutMask()'s, drawn tile by tile. NaN in masked keys and
// values has no effect; rows without keys are 0 with zero gradient. Saved for the backward: the
// inputs, the output and one number a row. Results do not depend on the number of threads.
at::Tensor SoftmaxAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, const DropoutKey& weight_dropout,
                            bool causal = false, const at::Tensor& bias = at::Tensor());

namespace internal {

// What the two forms share: float32 on the CPU in tiles of registers, everything else in tiles of
// ATen operations.
struct SoftmaxInput {
  at::Tensor q, k, v, keep, bias;  // keep and bias may be undefined
  DropoutKey weight_dropout;
  bool causal = false;

  // Query i sees keys j < i + VisibleOffset().
  int64_t VisibleOffset() const { return k.size(2) - q.size(2) + 1; }
};

struct SoftmaxState {
  at::Tensor output;  // [B, H, N, Dv]
  // [B, H, N]: logarithm of a row's sum of exponentials, infinite where there are no keys; base 2
  // in the register form, e in the generic one.
  at::Tensor log_sum;
};

struct SoftmaxGradients {
  at::Tensor q, k, v, bias;
};

SoftmaxState SoftmaxForwardGeneric(const SoftmaxInput& input);
SoftmaxGradients SoftmaxBackwardGeneric(const at::Tensor& gradient, const SoftmaxInput& input,
                                        const SoftmaxState& state);
SoftmaxState SoftmaxForwardTiled(const SoftmaxInput& input);
SoftmaxGradients SoftmaxBackwardTiled(const at::Tensor& gradient, const SoftmaxInput& input,
                                      const SoftmaxState& state);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_
