#include "models/layers/definitions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tanh.h>

#include <numbers>

namespace lra {

at::Tensor LinearDefinition(const at::Tensor& x, const LinearMap& map) {
  const at::Tensor product = at::matmul(x, map.weight.to(x.options()).t());
  return map.bias.defined() ? product + map.bias.to(x.options()) : product;
}

at::Tensor ActivationDefinition(const at::Tensor& x, ActivationKind kind) {
  if (kind == ActivationKind::kRelu) return (x + x.abs()) / 2;
  if (kind == ActivationKind::kGeluErf) return x / 2 * (1 + at::erf(x / std::numbers::sqrt2));
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
  return x / 2 * (1 + at::tanh(scale * (x + 0.044715 * x.pow(3))));
}

at::Tensor DropoutDefinition(const at::Tensor& x, const DropoutKey& key) {
  return key.active() ? x * DropoutMask(key, x.size(1), x.size(2)).to(x.options()) : x;
}

}  // namespace lra
