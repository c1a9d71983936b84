#include "models/encoder/stem.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>

#include <cmath>

#include "models/layers/token_filter.h"

namespace lra {

Stem::Stem(const ExperimentConfig& config, ParameterStore* parameters)
    : is_masked_(config.model().mask() != ModelConfig::NO_MASK),
      is_causal_(config.attention().causal()) {
  const int64_t taps = config.model().stem_tokens(), width = config.model().width();
  // Each channel has `taps` inputs.
  filters_ = parameters->Create("embedding.stem.filter", {taps, width},
                                Initializer::Normal(1 / std::sqrt(static_cast<double>(taps))));
  filter_bias_ = parameters->Create("embedding.stem.filter_bias", {width}, Initializer::Bias(taps));
  map_.weight =
      parameters->Create("embedding.stem.map.weight", {width, width}, Initializer::XavierUniform());
  map_.bias = parameters->Create("embedding.stem.map.bias", {width}, Initializer::Bias(width));
}

at::Tensor Stem::Forward(const at::Tensor& x, const at::Tensor& real) const {
  return WithFeatures(x, FilterTokens(x, is_masked_ ? real : at::Tensor(), filters_, is_causal_));
}

at::Tensor Stem::InitWindow(int64_t batch, const at::TensorOptions& options) const {
  return EmptyWindow(filters_, batch, options);
}

at::Tensor Stem::Extend(const at::Tensor& x, at::Tensor* window) const {
  return WithFeatures(x, FilterPiece(x, at::Tensor(), filters_, window));
}

at::Tensor Stem::WithFeatures(const at::Tensor& x, const at::Tensor& filtered) const {
  return x + ApplyLinear(at::gelu(filtered + filter_bias_), map_);
}

}  // namespace lra
