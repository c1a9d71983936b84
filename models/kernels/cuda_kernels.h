// Our own CUDA kernels (models/kernels/*.cu), in the library of models/base/cuda_library.h. Without
// it LibTorch's operators compute the same.
#ifndef LRA_MODELS_KERNELS_CUDA_KERNELS_H_
#define LRA_MODELS_KERNELS_CUDA_KERNELS_H_

#include <ATen/core/Tensor.h>

#include <tuple>

#include "models/kernels/kept_octet.h"

namespace lra {

// The mask [examples, heads, rows, columns], bool, on the CUDA device that holds `ids` [examples]
// (int64, contiguous), whose address plan.example_ids need not have yet; `step`, int64 [] there,
// stands for plan.step where it is defined. Launched on the calling thread's stream. Undefined
// where our kernels are not there. Throws c10::Error if the launch fails.
at::Tensor DrawKeptOnCuda(KeptPlan plan, const at::Tensor& ids, const at::Tensor& step);

// Whether NormOnCuda() takes rows of x [..., E] on a CUDA device, with parameters [E]: all float32,
// and E at most kMostNormWidth (models/kernels/norm_rows.h).
bool HasNormOnCuda(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// (y, means, 1 / deviations) of the rows of x [..., E], contiguous as the parameters are: [..., E],
// [rows], [rows]. Launched and failing as above.
std::tuple<at::Tensor, at::Tensor, at::Tensor> NormOnCuda(const at::Tensor& x,
                                                          const at::Tensor& weight,
                                                          const at::Tensor& bias, double epsilon);

// The gradients (of x, of weight, of bias) for that of y, contiguous. How many partial sums those
// of the parameters are made of is no property of the card.
std::tuple<at::Tensor, at::Tensor, at::Tensor> NormBackwardOnCuda(const at::Tensor& x,
                                                                  const at::Tensor& weight,
                                                                  const at::Tensor& means,
                                                                  const at::Tensor& scales,
                                                                  const at::Tensor& upstream);

// Whether the two below take x [B, N, E] and filters [W, E] on a CUDA device: all float32 and
// contiguous, W at most kMostChannelTaps (models/kernels/channel_rows.h), fewer than 2^31 rows.
bool HasChannelsOnCuda(const at::Tensor& x, const at::Tensor& filters);

// y_n = sum_t filters_t x_{n + t - before}, or with the filters in reverse order: [B, N, E].
at::Tensor ConvolveChannelsOnCuda(const at::Tensor& x, const at::Tensor& filters, int64_t before,
                                  bool is_reversed);

// The gradient [W, E] of `taps` filters for that of y, contiguous. As for norms, partial sums do
// not depend on the card.
at::Tensor FilterGradientOnCuda(const at::Tensor& x, const at::Tensor& upstream, int64_t taps,
                                int64_t before);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CUDA_KERNELS_H_
