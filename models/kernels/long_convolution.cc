#include "models/kernels/long_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "lra/check.h"
#include "models/kernels/dispatch.h"

namespace lra {
namespace {

// The smallest 2^a 3^b 5^c that is at least n, because transforms of these lengths are fast.
int64_t FastLength(int64_t n) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int64_t fives = 1; fives < 5 * n; fives *= 5) {
    for (int64_t threes = fives; threes < 3 * n; threes *= 3) {
      int64_t length = threes;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  }
  return best;
}

}  // namespace

at::Tensor LongConvolution(const at::Tensor& x, const at::Tensor& past, const at::Tensor& future) {
  const auto fits = [&x](const at::Tensor& kernel) {  // [C, N]
    return kernel.dim() == 2 && kernel.size(0) == x.size(2) && kernel.size(1) == x.size(1);
  };
  LRA_CHECK(x.dim() == 3 && fits(past) && (!future.defined() || fits(future)))
      << "x is " << x.sizes() << ", the kernel " << past.sizes();
  const bool is_tiled = DispatchKernel({}, {x, past, future}) != KernelPath::kGeneric;
  return is_tiled ? internal::LongConvolutionTiled(x, past, future)
                  : internal::LongConvolutionGeneric(x, past, future);
}

at::Tensor internal::LongConvolutionGeneric(const at::Tensor& x, const at::Tensor& past,
                                            const at::Tensor& future) {
  const int64_t tokens = x.size(1), length = FastLength(2 * tokens);
  at::Tensor kernel = past;
  if (future.defined()) {  // lag -1 - t stands at length - 1 - t
    const at::Tensor gap = at::zeros({past.size(0), length - 2 * tokens}, past.options());
    kernel = at::cat({past, gap, future.flip({1})}, 1);
  }
  const at::Tensor product = at::fft_rfft(x.transpose(1, 2), length) * at::fft_rfft(kernel, length);
  return at::fft_irfft(product, length).narrow(2, 0, tokens).transpose(1, 2);
}

}  // namespace lra
