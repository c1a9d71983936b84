#include "models/kernels/fourier.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/fft_fft.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/real.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// For real numbers, channels c and C - c of the transform are each other's conjugates at tokens n
// and -n (modulo N). So half of the channels are transformed, and the others follow from them.
at::Tensor Mix(const at::Tensor& x, bool is_orthonormal) {
  const c10::string_view scaling = is_orthonormal ? "ortho" : "backward";
  const int64_t channels = x.size(2), half = channels / 2 + 1;
  const at::Tensor low =
      at::real(at::fft_fft(at::fft_rfft(x, std::nullopt, 2, scaling), std::nullopt, 1, scaling));
  const at::Tensor mirrored = low.slice(2, 1, channels - half + 1).flip({1, 2}).roll(1, 1);
  return at::cat({low, mirrored}, 2);
}

class FourierMixingFunction : public torch::autograd::Function<FourierMixingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, bool is_orthonormal) {
    context->saved_data["is_orthonormal"] = is_orthonormal;
    return Mix(x, is_orthonormal);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {Mix(gradients[0], context->saved_data["is_orthonormal"].toBool()), at::Tensor()};
  }
};

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

at::Tensor FourierMixing(const at::Tensor& x, bool is_orthonormal) {
  return FourierMixingFunction::apply(x, is_orthonormal);
}

at::Tensor LongConvolution(const at::Tensor& x, const at::Tensor& past, const at::Tensor& future) {
  const int64_t tokens = x.size(2), length = FastLength(2 * tokens);
  at::Tensor kernel = past;
  if (future.defined()) {  // lag -1 - t stands at length - 1 - t
    const at::Tensor gap = at::zeros({past.size(0), length - 2 * tokens}, past.options());
    kernel = at::cat({past, gap, future.flip({1})}, 1);
  }
  const at::Tensor product = at::fft_rfft(x, length) * at::fft_rfft(kernel, length);
  return at::fft_irfft(product, length).narrow(2, 0, tokens);
}

}  // namespace lra
