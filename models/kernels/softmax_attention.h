// Exact softmax attention: softmax(q k^T / sqrt(D) + bias) v over the keys that a query may see, in
// memory linear in N. The softmax is computed online, tile by tile, after Milakov & Gimelshein 2018
// and Dao et al. 2022.
#ifndef LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_
#define LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include "models/base/product_type.h"
#include "models/kernels/dropout.h"

namespace lra {

// Takes q [B, H, N, D], k [B, H, Nk, D], v [B, H, Nk, Dv] and keep [B, Nk], bool or undefined, with
// any strides, widths and float types. Returns [B, H, N, Dv], laid out [B, N, H, Dv].
// Differentiable once. With `causal`, query i sees only keys j <= i + Nk - N. `bias` [H, N, Nk]
// (undefined for none) is added to the scaled products of every example; its gradient is summed
// over the examples. `distance_slopes` [H] (undefined for none; no gradient) is multiplied by the
// distance |i + Nk - N - j| and subtracted (ALiBi, Press et al. 2022, section 3). The masks of
// weight dropout are those of WeightDropoutMask(), drawn tile by tile. NaN in masked keys and
// values has no effect; rows without keys are 0 with zero gradient. The backward keeps the inputs,
// the output and one number a row. Results do not depend on the number of threads.
at::Tensor SoftmaxAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, const DropoutKey& weight_dropout,
                            bool causal = false, const at::Tensor& bias = at::Tensor(),
                            const at::Tensor& distance_slopes = at::Tensor());

namespace internal {

// There are three forms. The register form (Tiled) computes tiles in vector registers; it takes
// float32 on the CPU, and multiplies as ActiveProductType() says, its backward as the forward did.
// The fused form is LibTorch's, differentiable by itself; it takes what it can on CUDA. The generic
// form takes everything else, in tiles of ATen operations. All share these types.
struct SoftmaxInput {
  at::Tensor q, k, v, keep, bias, distance_slopes;  // the last three may be undefined
  DropoutKey weight_dropout;
  bool causal = false;

  // Where query 0 stands among the keys.
  int64_t FirstPosition() const { return k.size(2) - q.size(2); }
  // Query i sees keys j < i + VisibleOffset().
  int64_t VisibleOffset() const { return FirstPosition() + 1; }
};

struct SoftmaxState {
  at::Tensor output;  // [B, H, N, Dv]
  // The logarithm of each row's sum of exponentials, [B, H, N], infinite where there are no keys.
  // Its base is 2 in the register form and e in the generic one.
  at::Tensor log_sum;
  ProductType products = ProductType::kFloat32;  // of the register form
};

struct SoftmaxGradients {
  at::Tensor q, k, v, bias;
};

SoftmaxState SoftmaxForwardGeneric(const SoftmaxInput& input);
SoftmaxGradients SoftmaxBackwardGeneric(const at::Tensor& gradient, const SoftmaxInput& input,
                                        const SoftmaxState& state);
// Whether LibTorch's fused kernels compute this without the whole matrix of weights: no bias,
// slopes or weight dropout, equal widths that 8 divides, not float64; causal only without a mask.
bool CanFuseSoftmax(const SoftmaxInput& input);
at::Tensor SoftmaxFused(const SoftmaxInput& input);
SoftmaxState SoftmaxForwardTiled(const SoftmaxInput& input);
SoftmaxGradients SoftmaxBackwardTiled(const at::Tensor& gradient, const SoftmaxInput& input,
                                      const SoftmaxState& state);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_H_
