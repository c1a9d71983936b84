// Linear state spaces with a diagonal matrix, computed as convolutions.
#ifndef LRA_MODELS_KERNELS_DIAGONAL_STATE_SPACE_H_
#define LRA_MODELS_KERNELS_DIAGONAL_STATE_SPACE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// K[x, c, l] = 2 Re sum_p weight[x, c, p] e^(l rate[c, p]) for l < length, with complex128 rate [C,
// P] and weight [X, C, P], Re(rate) <= 0; returns [X, C, length] in `type`. Differentiable. With l
// = a m + b and m ~ sqrt(length), it is a product of tables [length / m, P] and [P, m] for each
// channel, so memory is O(C P sqrt(length)) and never C P length. The tables are made in float64,
// because the phases of late lags are large.
at::Tensor ExponentialSums(const at::Tensor& rate, const at::Tensor& weight, int64_t length,
                           at::ScalarType type);

// How many lags a table of the inner ones holds: m, about sqrt(length).
int64_t InnerLags(int64_t length);

namespace internal {

// The two forms, for tests that hold one against the other: of LibTorch's operations, and channel
// by channel in the cache, for float32 on the CPU. The second keeps its inputs and no table.
at::Tensor ExponentialSumsGeneric(const at::Tensor& rate, const at::Tensor& weight, int64_t length,
                                  at::ScalarType type);
at::Tensor ExponentialSumsTiled(const at::Tensor& rate, const at::Tensor& weight, int64_t length);

}  // namespace internal

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_DIAGONAL_STATE_SPACE_H_
