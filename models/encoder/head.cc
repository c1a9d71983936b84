#include "models/encoder/head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

LinearMap Dense(absl::string_view name, int64_t out, int64_t in, ParameterStore* parameters) {
  LinearMap map;
  map.weight =
      parameters->Create(absl::StrCat(name, ".weight"), {out, in}, Initializer::LecunNormal());
  map.bias = parameters->Create(absl::StrCat(name, ".bias"), {out}, Initializer::Bias(in));
  return map;
}

}  // namespace

Head::Head(const ModelConfig& config, bool is_pair, int64_t classes, ParameterStore* parameters)
    : has_products_(config.pair_head() != ModelConfig::CONCATENATION),
      is_gelu_(config.head_activation() == ModelConfig::GELU) {
  int64_t width = config.width() * (!is_pair ? 1 : has_products_ ? 4 : 2);
  const auto add_hidden = [&](absl::string_view name, int64_t out) {
    hidden_.push_back(Dense(name, out, width, parameters));
    width = out;
  };
  if (config.head() != ModelConfig::LINEAR) {
    add_hidden("head.hidden", config.head_width());
    if (is_pair && !has_products_) add_hidden("head.hidden2", config.head_width() / 2);
  }
  logits_ = Dense("head.logits", classes, width, parameters);
}

at::Tensor Head::Features(const at::Tensor& a, const at::Tensor& b) const {
  if (!b.defined()) return a;
  return has_products_ ? at::cat({a, b, a * b, a - b}, 1) : at::cat({a, b}, 1);
}

at::Tensor Head::Forward(const at::Tensor& a, const at::Tensor& b) const {
  at::Tensor x = Features(a, b);
  for (const LinearMap& map : hidden_) {
    const at::Tensor y = at::linear(x, map.weight, map.bias);
    x = is_gelu_ ? at::gelu(y) : at::relu(y);
  }
  return at::linear(x, logits_.weight, logits_.bias);
}

}  // namespace lra
