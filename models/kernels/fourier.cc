#include "models/kernels/fourier.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/fft_fft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/real.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "models/kernels/dispatch.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr KernelNeeds kFourierNeeds = {};

class FourierMixingFunction : public torch::autograd::Function<FourierMixingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, bool is_orthonormal) {
    const bool is_tiled = DispatchKernel(kFourierNeeds, {x}) != KernelPath::kGeneric &&
                          internal::HasTiledFourierMixing(x.size(1), x.size(2));
    context->saved_data["is_orthonormal"] = is_orthonormal;
    context->saved_data["is_tiled"] = is_tiled;
    return Mix(x, is_orthonormal, is_tiled);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {Mix(gradients[0], context->saved_data["is_orthonormal"].toBool(),
                context->saved_data["is_tiled"].toBool()),
            at::Tensor()};
  }

 private:
  static at::Tensor Mix(const at::Tensor& x, bool is_orthonormal, bool is_tiled) {
    return (is_tiled ? internal::FourierMixingTiled : internal::FourierMixingGeneric)(
        x, is_orthonormal);
  }
};

}  // namespace

namespace internal {

// For real numbers, channels c and C - c of the transform are each other's conjugates at tokens n
// and -n (modulo N). So half of the channels are transformed, and the others follow from them.
at::Tensor FourierMixingGeneric(const at::Tensor& x, bool is_orthonormal) {
  const c10::string_view scaling = is_orthonormal ? "ortho" : "backward";
  const int64_t channels = x.size(2), half = channels / 2 + 1;
  const at::Tensor low =
      at::real(at::fft_fft(at::fft_rfft(x, std::nullopt, 2, scaling), std::nullopt, 1, scaling));
  const at::Tensor mirrored = low.slice(2, 1, channels - half + 1).flip({1, 2}).roll(1, 1);
  return at::cat({low, mirrored}, 2);
}

}  // namespace internal

at::Tensor FourierMixing(const at::Tensor& x, bool is_orthonormal) {
  return FourierMixingFunction::apply(x, is_orthonormal);
}

}  // namespace lra
