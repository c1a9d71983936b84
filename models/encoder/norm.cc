#include "models/encoder/norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

constexpr double kMomentum = 0.1;

// [B, N, E] -> [E], over the real positions.
at::Tensor SumOfReal(const at::Tensor& x, const at::Tensor& real) {
  if (!real.defined()) return x.sum({0, 1});
  return at::where(real.unsqueeze(-1), x, at::zeros({}, x.options())).sum({0, 1});
}

}  // namespace

at::Tensor LayerNorm(const at::Tensor& x, const NormMap& norm) {
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, norm.epsilon);
}

Norm::Norm(const ModelConfig& config, absl::string_view name, ParameterStore* parameters) {
  const std::vector<int64_t> shape = {config.width()};
  map_.weight = parameters->Create(absl::StrCat(name, ".weight"), shape, Initializer::Ones());
  map_.bias = parameters->Create(absl::StrCat(name, ".bias"), shape, Initializer::Zeros());
  map_.epsilon = config.norm_epsilon();
  if (config.norm() != ModelConfig::BATCH) return;
  running_mean_ =
      parameters->CreateBuffer(absl::StrCat(name, ".running_mean"), shape, Initializer::Zeros());
  running_variance_ =
      parameters->CreateBuffer(absl::StrCat(name, ".running_var"), shape, Initializer::Ones());
}

at::Tensor Norm::Apply(const at::Tensor& centred, const at::Tensor& variance) const {
  return centred * (variance + map_.epsilon).rsqrt() * map_.weight + map_.bias;
}

void Norm::Learn(const at::Tensor& mean, const at::Tensor& variance, int64_t positions) const {
  const c10::NoGradGuard no_gradients;
  const double unbiased = static_cast<double>(positions) / static_cast<double>(positions - 1);
  running_mean_.mul_(1 - kMomentum).add_(mean, kMomentum);
  running_variance_.mul_(1 - kMomentum).add_(variance, kMomentum * unbiased);
}

at::Tensor Norm::Forward(const at::Tensor& x, const at::Tensor& real,
                         BatchStatistics statistics) const {
  if (is_layer_norm()) return LayerNorm(x, map_);
  const bool is_running = statistics == BatchStatistics::kRunning;
  const int64_t positions = is_running        ? 0
                            : !real.defined() ? x.size(0) * x.size(1)
                                              : real.sum().item<int64_t>();
  if (positions < 2) return Apply(x - running_mean_, running_variance_);
  const at::Tensor mean = SumOfReal(x, real) / positions;
  const at::Tensor centred = x - mean;
  const at::Tensor variance = SumOfReal(centred.square(), real) / positions;
  if (statistics == BatchStatistics::kOfBatchAndLearn) Learn(mean, variance, positions);
  return Apply(centred, variance);
}

}  // namespace lra
