#include "models/layers/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/polar.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "models/base/shapes_only.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kBase = 10000;

// Whether neighbouring channels are complex numbers as they lie in memory.
bool IsPairs(const at::Tensor& x) {
  const auto is_even = [](int64_t stride) { return stride % 2 == 0; };
  const at::IntArrayRef others = x.strides().slice(0, 3);
  return x.stride(3) == 1 && is_even(x.storage_offset()) &&
         std::all_of(others.begin(), others.end(), is_even);
}

// Neighbouring channels of x [B, H, N, D] as complex numbers, times turns [N, D / 2].
at::Tensor Turned(const at::Tensor& x, const at::Tensor& turns) {
  const at::Tensor pairs = (IsPairs(x) ? x : x.contiguous()).unflatten(3, {-1, 2});
  return at::view_as_real(at::view_as_complex(pairs) * turns).flatten(3);
}

// LibTorch's gradients of views as complex numbers copy what is not contiguous. So does ours on the
// CPU, where the order in memory may decide the last bits, and with them those of records.
class TurnFunction : public torch::autograd::Function<TurnFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& turns) {
    context->save_for_backward({turns});
    return Turned(x, turns);
  }
  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const at::Tensor& dy = upstream[0];
    const at::Tensor conjugates = context->get_saved_variables()[0].conj();
    return {Turned(dy.is_cpu() ? dy.contiguous() : dy, conjugates), at::Tensor()};
  }
};

}  // namespace

RotaryPositions::RotaryPositions(int64_t max_length_tokens, int64_t head_width) {
  if (IsShapesOnly()) return;
  const at::Tensor channels = at::arange(0, head_width, 2, at::kDouble);
  const at::Tensor speeds = at::pow(kBase, -channels / static_cast<double>(head_width));
  const at::Tensor angles = at::outer(at::arange(max_length_tokens, at::kDouble), speeds);
  turns_ = DeviceConstant(at::polar(at::ones_like(angles), angles));
}

at::Tensor RotaryPositions::Turns(const at::Tensor& x, int64_t first) const {
  const int64_t tokens = x.size(2);
  TORCH_CHECK(first + tokens <= turns_.host().size(0), "tokens up to ", first + tokens,
              " exceed the model's ", turns_.host().size(0));
  return turns_.On(x.device())
      .narrow(0, first, tokens)
      .to(x.scalar_type() == at::kDouble ? at::kComplexDouble : at::kComplexFloat);
}

at::Tensor TurnByPositions(const at::Tensor& x, const at::Tensor& turns) {
  const at::ScalarType type = turns.scalar_type() == at::kComplexDouble ? at::kDouble : at::kFloat;
  return TurnFunction::apply(x.to(type), turns);
}

at::Tensor RotaryDefinition(const at::Tensor& x, int64_t first) {
  const int64_t tokens = x.size(2), width = x.size(3);
  const at::Tensor positions = at::arange(first, first + tokens, at::kDouble).unsqueeze(1);
  const at::Tensor channels = at::arange(width / 2, at::kDouble);
  const at::Tensor angles = positions / at::exp(std::log(kBase) * 2 * channels / width);
  const at::Tensor cosine = angles.cos().to(x.options()), sine = angles.sin().to(x.options());
  const at::Tensor even = x.slice(3, 0, width, 2), odd = x.slice(3, 1, width, 2);
  return at::stack({even * cosine - odd * sine, odd * cosine + even * sine}, 4).flatten(3);
}

}  // namespace lra
