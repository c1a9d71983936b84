// Linear state spaces with a diagonal matrix as convolutions.
#ifndef LRA_MODELS_KERNELS_DIAGONAL_STATE_SPACE_H_
#define LRA_MODELS_KERNELS_DIAGONAL_STATE_SPACE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// K[x, c, l] = 2 Re sum_p weight[x, c, p] e^(l rate[c, p]) for l < length: rate [C, P] and weight
// [X, C, P] complex128, Re(rate) <= 0 -> [X, C, length] in `type`. Differentiable. With l = a m + b
// and m ~ sqrt(length) a product of tables [length / m, P] and [P, m] for each channel: memory
// O(C P sqrt(length)), never C P length. The tables are made in float64, since the phases of late
// lags are large.
at::Tensor ExponentialSums(const at::Tensor& rate, const at::Tensor& weight, int64_t length,
                           at::ScalarType type);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_DIAGONAL_STATE_SPACE_H_
