// Convolutions along the tokens, with one filter for all channels of a head.
#ifndef LRA_MODELS_KERNELS_TOKEN_CONVOLUTION_H_
#define LRA_MODELS_KERNELS_TOKEN_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

namespace lra {

// y_n = residual_n + sum_t filters_t x_{n + t - W / 2}, where x is 0 outside of the sequence: x and
// residual [B, H, N, D], filters [H, W] with odd W -> [B, H, N, D]. Differentiable once in all.
// Works on any device and float type; it is fast in float32 on the CPU, where what is not finite in
// x may spread over 8 tokens more.
at::Tensor AddTokenConvolution(const at::Tensor& residual, const at::Tensor& x,
                               const at::Tensor& filters);

namespace internal {

// The same by ATen: a product for each tap or, on other devices than the CPU, as below.
at::Tensor AddTokenConvolutionGeneric(const at::Tensor& residual, const at::Tensor& x,
                                      const at::Tensor& filters);
// The same as one batched product of a band of the filter with windows of tokens.
at::Tensor AddTokenConvolutionByBands(const at::Tensor& residual, const at::Tensor& x,
                                      const at::Tensor& filters);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_TOKEN_CONVOLUTION_H_
