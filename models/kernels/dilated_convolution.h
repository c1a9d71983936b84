// Convolutions along the tokens whose taps stand apart, with full mixing of channels.
#ifndef LRA_MODELS_KERNELS_DILATED_CONVOLUTION_H_
#define LRA_MODELS_KERNELS_DILATED_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/kernels/linear_map.h"

namespace lra {

// Which tokens a convolution reads: tap t of token n reads token n + (t - own) dilation. Outside of
// the sequence there are zeros or, where it is circular, its other end.
struct DilatedTaps {
  int64_t taps = 3;
  int64_t own = 1;  // the tap that reads the token itself
  int64_t dilation = 1;
  bool is_circular = false;

  int64_t Offset(int64_t tap) const { return (tap - own) * dilation; }
  // All of them, as autograd's functions keep them, and back.
  std::vector<int64_t> Numbers() const { return {taps, own, dilation, is_circular}; }
  static DilatedTaps Of(const std::vector<int64_t>& numbers) {
    return {numbers[0], numbers[1], numbers[2], numbers[3] != 0};
  }
};

// y_n = b + sum_t W_t x_{n + (t - own) dilation}: x [B, N, E], map.weight [F, taps E] with W_t in
// the columns from t E on -> [B, N, F]. The sequence of example b is its first lengths_b
// tokens ([B] int64, where x is; undefined: all N), whatever stands behind; there y is 0.
// Differentiable once in x and map. Works on any device and float type; it is fast in float32 on
// the CPU. Under autocast the products are of bfloat16; the result is of the type of x again.
at::Tensor DilatedConvolution(const at::Tensor& x, const LinearMap& map, const at::Tensor& lengths,
                              const DilatedTaps& taps);

namespace internal {

// How ATen computes it, for devices and types that have no tiles: one product of what each token
// reads, side by side, or a convolution of pictures of one line.
enum class ConvolutionForm { kColumns, kConvolution };
at::Tensor DilatedConvolutionBy(ConvolutionForm form, const at::Tensor& x, const LinearMap& map,
                                const at::Tensor& lengths, const DilatedTaps& taps);
// By the form that is the faster one there.
at::Tensor DilatedConvolutionGeneric(const at::Tensor& x, const LinearMap& map,
                                     const at::Tensor& lengths, const DilatedTaps& taps);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_DILATED_CONVOLUTION_H_
