#include "models/encoder/pooling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace lra {

Pooling::Pooling(const ModelConfig& config, ParameterStore* parameters)
    : reads_first_(config.pooling() != ModelConfig::MEAN) {
  norm_.weight = parameters->Create("encoder.norm.weight", {config.width()}, Initializer::Ones());
  norm_.bias = parameters->Create("encoder.norm.bias", {config.width()}, Initializer::Zeros());
  norm_.epsilon = config.norm_epsilon();
}

at::Tensor Pooling::Forward(const at::Tensor& x, const at::Tensor& keep) const {
  const auto normalise = [&](const at::Tensor& rows) {
    return at::layer_norm(rows, {rows.size(-1)}, norm_.weight, norm_.bias, norm_.epsilon);
  };
  if (reads_first_) return normalise(x.select(1, 0));
  if (!keep.defined()) return normalise(x).mean(1);
  const at::Tensor kept = at::where(keep.unsqueeze(-1), normalise(x), at::zeros({}, x.options()));
  return kept.sum(1) / keep.sum(1, true).clamp_min(1);
}

Head::Head(const ModelConfig& config, int64_t classes, ParameterStore* parameters) {
  const int64_t width = config.width(), hidden = config.head_width();
  hidden_.weight =
      parameters->Create("head.hidden.weight", {hidden, width}, Initializer::LecunNormal());
  hidden_.bias = parameters->Create("head.hidden.bias", {hidden}, Initializer::Zeros());
  logits_.weight =
      parameters->Create("head.logits.weight", {classes, hidden}, Initializer::LecunNormal());
  logits_.bias = parameters->Create("head.logits.bias", {classes}, Initializer::Zeros());
}

at::Tensor Head::Forward(const at::Tensor& pooled) const {
  const at::Tensor hidden = at::linear(pooled, hidden_.weight, hidden_.bias).relu();
  return at::linear(hidden, logits_.weight, logits_.bias);
}

}  // namespace lra
