// Convolutions as long as the sequence, each channel with kernels of its own.
#ifndef LRA_MODELS_KERNELS_LONG_CONVOLUTION_H_
#define LRA_MODELS_KERNELS_LONG_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

namespace lra {

// y_i = sum_{j <= i} past[i - j] x_j + sum_{j > i} future[j - i - 1] x_j for each channel; without
// `future`, the first sum only. x [B, N, C], kernels [C, N] -> [B, N, C]. Takes O(N log N) for each
// channel, by transforms of at least 2 N. Differentiable once; keeps its inputs and no transform.
at::Tensor LongConvolution(const at::Tensor& x, const at::Tensor& past, const at::Tensor& future);

namespace internal {

// The two forms, for tests that hold one against the other: of LibTorch's operations, and in the
// cache, 16 channels and two examples side by side (float32 on the CPU).
at::Tensor LongConvolutionGeneric(const at::Tensor& x, const at::Tensor& past,
                                  const at::Tensor& future);
at::Tensor LongConvolutionTiled(const at::Tensor& x, const at::Tensor& past,
                                const at::Tensor& future);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LONG_CONVOLUTION_H_
