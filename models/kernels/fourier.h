// Mixes tokens by Fourier transforms, in float32 and float64, on any device, differentiable.
#ifndef LRA_MODELS_KERNELS_FOURIER_H_
#define LRA_MODELS_KERNELS_FOURIER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// The real part of the two-dimensional discrete Fourier transform of each x[b]: x [B, N, C] -> [B,
// N, C], divided by sqrt(N C) if orthonormal. Source: Lee-Thorp et al. 2022 ("FNet"), eq. 3. The
// map is symmetric, so it is its own backward and saves nothing.
at::Tensor FourierMixing(const at::Tensor& x, bool is_orthonormal);

namespace internal {

// The map itself, without gradient: by fft_rfft() and fft_fft(), and for float32 on the CPU where N
// and C are 2^a or 3 2^a, and C is a multiple of 32.
at::Tensor FourierMixingGeneric(const at::Tensor& x, bool is_orthonormal);
bool HasTiledFourierMixing(int64_t tokens, int64_t channels);
at::Tensor FourierMixingTiled(const at::Tensor& x, bool is_orthonormal);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_FOURIER_H_
