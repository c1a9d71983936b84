// Means of consecutive segments of tokens: the landmarks of Nyström attention.
#ifndef LRA_MODELS_KERNELS_SEGMENT_MEANS_H_
#define LRA_MODELS_KERNELS_SEGMENT_MEANS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// x [B, H, N, D], keep [B, N] bool -> [B, H, segments, D]: the means of x over segments of the kept
// tokens. The t-th of n kept tokens of an example, counted from 0, is in segment
// floor(t segments / n); each example must have at least as many kept tokens as segments. Masked
// tokens must hold numbers. Differentiable once in x. Works on any device and float type; it is
// fast in float32 on the CPU.
at::Tensor SegmentMeans(const at::Tensor& x, const at::Tensor& keep, int64_t segments);

namespace internal {

// The same as a product with a matrix of weights.
at::Tensor SegmentMeansGeneric(const at::Tensor& x, const at::Tensor& keep, int64_t segments);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SEGMENT_MEANS_H_
