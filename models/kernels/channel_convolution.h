// Convolutions along the tokens, with a filter for each channel (depthwise).
#ifndef LRA_MODELS_KERNELS_CHANNEL_CONVOLUTION_H_
#define LRA_MODELS_KERNELS_CHANNEL_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// y_n = sum_t filters_t * x_{n + t - (W - 1 - after)}, channel by channel, where x is 0 outside of
// the sequence: x [B, N, E], filters [W, E] -> [B, N, E]; the last tap reads `after` < W tokens
// behind n. Differentiable once. Works on any device and float type; it is fast in float32 on the
// CPU, and on CUDA where our kernels are there (models/kernels/cuda_kernels.h).
at::Tensor ChannelConvolution(const at::Tensor& x, const at::Tensor& filters, int64_t after);

namespace internal {

// The same by ATen, in the type of x: a product for each tap.
at::Tensor ChannelConvolutionGeneric(const at::Tensor& x, const at::Tensor& filters, int64_t after);
// What other devices than the CPU do: the same sum with a gradient of its own.
at::Tensor ChannelConvolutionByTaps(const at::Tensor& x, const at::Tensor& filters, int64_t after);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CHANNEL_CONVOLUTION_H_
