#include "models/layers/norm.h"

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "absl/strings/str_cat.h"
#include "models/kernels/cuda_kernels.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kExamplesAndTokens[] = {0, 1};  // dimensions

// [B, N, E] -> [E], over the real positions.
at::Tensor SumOfReal(const at::Tensor& x, const at::Tensor& real) {
  // By type, since a plain {0, 1} is ambiguous in LibTorch 2.11.
  const at::IntArrayRef dimensions(kExamplesAndTokens);
  if (!real.defined()) return x.sum(dimensions);
  return at::where(real.unsqueeze(-1), x, at::zeros({}, x.options())).sum(dimensions);
}

// By our own CUDA kernels.
class NormFunction : public torch::autograd::Function<NormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, double epsilon) {
    const auto [y, means, scales] = NormOnCuda(x, weight, bias, epsilon);
    context->save_for_backward({x, weight, means, scales});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    const auto [dx, dweight, dbias] =
        NormBackwardOnCuda(saved[0], saved[1], saved[2], saved[3], upstream[0].contiguous());
    return {dx, dweight, dbias, at::Tensor()};
  }
};

}  // namespace

at::Tensor LayerNorm(const at::Tensor& x, const NormMap& norm) {
  if (HasNormOnCuda(x, norm.weight, norm.bias))
    return NormFunction::apply(x.contiguous(), norm.weight, norm.bias, norm.epsilon);
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, norm.epsilon);
}

bool HasFinalNorm(const ModelConfig& config) {
  return config.norm_placement() != ModelConfig::AFTER || config.final_norm();
}

Norm::Norm(const ModelConfig& config, absl::string_view name, ParameterStore* parameters) {
  const std::vector<int64_t> shape = {config.width()};
  map_.weight = parameters->Create(absl::StrCat(name, ".weight"), shape, Initializer::Ones(),
                                   ParameterRole::kNorm);
  map_.bias = parameters->Create(absl::StrCat(name, ".bias"), shape, Initializer::Zeros(),
                                 ParameterRole::kNorm);
  map_.epsilon = config.norm_epsilon();
  if (config.norm() != ModelConfig::BATCH) return;
  running_mean_ =
      parameters->CreateStatistic(absl::StrCat(name, ".running_mean"), shape, Initializer::Zeros());
  running_variance_ =
      parameters->CreateStatistic(absl::StrCat(name, ".running_var"), shape, Initializer::Ones());
}

at::Tensor Norm::Apply(const at::Tensor& centred, const at::Tensor& variance) const {
  return centred * (variance + map_.epsilon).rsqrt() * map_.weight + map_.bias;
}

void Norm::Learn(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& positions,
                 const at::Tensor& is_enough, double share) const {
  const c10::NoGradGuard no_gradients;
  const at::ScalarType type = running_mean_.scalar_type();
  const at::Tensor momentum = is_enough.to(type) * share;
  const at::Tensor unbiased = variance * (positions / (positions - 1));
  running_mean_.lerp_(mean.to(type), momentum);
  running_variance_.lerp_(unbiased.to(type), momentum);
}

at::Tensor Norm::Forward(const at::Tensor& x, const at::Tensor& real,
                         BatchStatistics statistics) const {
  if (is_layer_norm()) return LayerNorm(x, map_);
  const bool is_running = statistics.kind == BatchStatistics::Kind::kRunning;
  if (is_running || x.size(0) * x.size(1) < 2) return Apply(x - running_mean_, running_variance_);
  // The number of real positions, where they are: the host would wait for it.
  const at::Tensor count = real.defined() ? real.sum().to(x.scalar_type())
                                          : at::full({}, x.size(0) * x.size(1), x.options());
  const at::Tensor is_enough = count > 1;
  const at::Tensor positions = count.clamp_min(2);
  const at::Tensor mean = at::where(is_enough, SumOfReal(x, real) / positions, running_mean_);
  const at::Tensor centred = x - mean;
  const at::Tensor variance =
      at::where(is_enough, SumOfReal(centred.square(), real) / positions, running_variance_);
  if (statistics.kind == BatchStatistics::Kind::kOfBatchAndLearn)
    Learn(mean, variance, positions, is_enough, statistics.share);
  return Apply(centred, variance);
}

at::Tensor Norm::Oracle(const at::Tensor& x, const at::Tensor& real,
                        BatchStatistics statistics) const {
  const auto in_type = [&](const at::Tensor& t) { return t.to(x.options()); };
  const at::Tensor rows = real.defined() ? x.index({real}) : x.flatten(0, 1);  // [rows, E]
  at::Tensor mean, variance;
  if (is_layer_norm()) {
    mean = x.mean(-1, /*keepdim=*/true);
    variance = (x - mean).square().mean(-1, /*keepdim=*/true);
  } else if (statistics.kind == BatchStatistics::Kind::kRunning || rows.size(0) < 2) {
    mean = in_type(running_mean_);
    variance = in_type(running_variance_);
  } else {
    mean = rows.mean(0);
    variance = (rows - mean).square().mean(0);
  }
  return (x - mean) / (variance + map_.epsilon).sqrt() * in_type(map_.weight) + in_type(map_.bias);
}

}  // namespace lra
