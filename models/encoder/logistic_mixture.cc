#include "models/encoder/logistic_mixture.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "models/base/shapes_only.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/logistic_mixture.h"
#include "models/kernels/token_tiles.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kFirstLogScale = -2;
constexpr KernelNeeds kMixtureNeeds = {.is_contiguous = true};
// Probabilities of components that are made at once, some ten tensors of 256 values each: 10 MB a
// tensor on the host, 84 MB on a device, which waits for many.
constexpr int64_t kComponentsOnHost = 10240, kComponentsOnDevice = 81920;

// Calls body(first, rows) for a part of x's rows after the other.
template <class Body>
void ForRows(const at::Tensor& x, Body body) {
  const int64_t most = x.is_cpu() ? kComponentsOnHost : kComponentsOnDevice;
  const int64_t rows = x.size(0), at_once = std::max<int64_t>(1, most / (x.size(1) / 3));
  for (int64_t first = 0; first < rows; first += at_once)
    body(first, std::min(at_once, rows - first));
}

const float* RowOf(const at::Tensor& x, int64_t row) {
  return x.const_data_ptr<float>() + row * x.size(1);
}

class LogisticMixtureFunction : public torch::autograd::Function<LogisticMixtureFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& outputs) {
    context->save_for_backward({outputs});
    const bool is_tiled = DispatchKernel(kMixtureNeeds, {outputs}) != KernelPath::kGeneric;
    context->saved_data["is_tiled"] = is_tiled;
    const at::Tensor result = at::empty({outputs.size(0), kPixelValues}, outputs.options());
    if (is_tiled) {
      ForShards(outputs.size(0), [&](int64_t, int64_t begin, int64_t end) {
        LogisticMixtureRows(RowOf(outputs, begin), end - begin, outputs.size(1) / 3,
                            result.mutable_data_ptr<float>() + begin * kPixelValues);
      });
      return result;
    }
    ForRows(outputs, [&](int64_t first, int64_t rows) {
      result.narrow(0, first, rows)
          .copy_(internal::LogisticMixtureAtOnce(outputs.narrow(0, first, rows)));
    });
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const at::Tensor outputs = context->get_saved_variables()[0];
    const at::Tensor gradient = at::empty_like(outputs);
    if (context->saved_data["is_tiled"].toBool()) {
      const at::Tensor dense = upstream[0].contiguous();
      ForShards(outputs.size(0), [&](int64_t, int64_t begin, int64_t end) {
        LogisticMixtureBackwardRows(RowOf(outputs, begin), RowOf(dense, begin), end - begin,
                                    outputs.size(1) / 3,
                                    gradient.mutable_data_ptr<float>() + begin * outputs.size(1));
      });
      return {gradient};
    }
    ForRows(outputs, [&](int64_t first, int64_t rows) {
      const at::AutoGradMode enable(true);
      const at::Tensor leaf = outputs.narrow(0, first, rows).detach().set_requires_grad(true);
      gradient.narrow(0, first, rows)
          .copy_(torch::autograd::grad({internal::LogisticMixtureAtOnce(leaf)}, {leaf},
                                       {upstream[0].narrow(0, first, rows)})[0]);
    });
    return {gradient};
  }
};

}  // namespace

// With p_v = (edge above v - m) / e^s, value v > 0 lies between p_(v-1) and p_v, which differ by
// the same d for all v: the difference of sigmoids is
//   sigmoid(p_v) sigmoid(-p_(v-1)) (1 - e^-d).
at::Tensor internal::LogisticMixtureAtOnce(const at::Tensor& outputs) {
  const int64_t components = outputs.size(1) / 3;
  const auto part = [&](int64_t i) { return outputs.narrow(1, i * components, components); };
  const at::Tensor scale = part(2).clamp_min(kMinLogScale).neg().exp().unsqueeze(2);  // [G, K, 1]
  const at::Tensor edges =
      (at::arange(kPixelValues - 1, outputs.options().requires_grad(false)) + 0.5) * kPixelStep - 1;
  const at::Tensor p = (edges - part(1).unsqueeze(2)) * scale;  // [G, K, 255]
  // Logarithms of being below and of being above each edge.
  const at::Tensor below = at::log_sigmoid(p), above = at::log_sigmoid(-p);
  const at::Tensor between = at::expm1(scale * -kPixelStep).neg().log();  // [G, K, 1]
  const int64_t inner = kPixelValues - 2;
  const at::Tensor of_component = at::cat(
      {below.narrow(2, 0, 1), below.narrow(2, 1, inner) + above.narrow(2, 0, inner) + between,
       above.narrow(2, inner, 1)},
      2);  // [G, K, 256]
  return at::logsumexp(at::log_softmax(part(0), 1).unsqueeze(2) + of_component, 1);
}

at::Tensor LogisticMixture(const at::Tensor& outputs) {
  return LogisticMixtureFunction::apply(outputs);
}

MixtureHead::MixtureHead(int64_t width, int64_t components, ParameterStore* parameters) {
  map_.weight =
      parameters->Create("head.mixture.weight", {3 * components, width}, Initializer::Zeros());
  map_.bias = parameters->Create("head.mixture.bias", {3 * components}, Initializer::Zeros());
  if (IsShapesOnly()) return;
  const at::Tensor start = map_.bias.detach();
  const double end = components > 1 ? 1 : 0;  // one component stands in the middle
  start.narrow(0, components, components).copy_(at::linspace(-end, end, components));
  start.narrow(0, 2 * components, components).fill_(kFirstLogScale);
}

at::Tensor MixtureHead::Forward(const at::Tensor& x) const {
  return LogisticMixture(at::linear(x, map_.weight, map_.bias).to(at::kFloat));
}

}  // namespace lra
