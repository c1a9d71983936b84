#include "models/encoder/pooling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace lra {
namespace {

// [B, N, E] -> [B, E], the sum over the real positions.
at::Tensor SumOfReal(const at::Tensor& x, const at::Tensor& real) {
  if (!real.defined()) return x.sum(1);
  return at::where(real.unsqueeze(-1), x, at::zeros({}, x.options())).sum(1);
}

// [B, N, E] -> [B, E], the last real position of each row.
at::Tensor LastReal(const at::Tensor& x, const at::Tensor& real) {
  const int64_t tokens = x.size(1);
  if (!real.defined()) return x.select(1, tokens - 1);
  const at::Tensor places = at::arange(tokens, real.options().dtype(at::kLong));
  // -1, where nothing is real, counts from the end.
  const at::Tensor last = (places + 1).mul(real).amax(1).sub(1).remainder(tokens);  // [B]
  return x.gather(1, last.view({-1, 1, 1}).expand({-1, 1, x.size(2)})).squeeze(1);
}

// The row that the pooling reads, for kinds that read a single one; undefined for the others.
at::Tensor Row(ModelConfig::Pooling kind, const at::Tensor& x, const at::Tensor& real) {
  if (kind == ModelConfig::LAST_TOKEN) return LastReal(x, real);
  if (kind == ModelConfig::CLS || kind == ModelConfig::FIRST) return x.select(1, 0);
  return at::Tensor();
}

}  // namespace

Pooling::Pooling(const ModelConfig& config, ParameterStore* parameters) : kind_(config.pooling()) {
  if (config.norm_placement() != ModelConfig::AFTER) {
    norm_.emplace(config, "encoder.norm", parameters);
  }
}

at::Tensor Pooling::Forward(const at::Tensor& x, const at::Tensor& real,
                            BatchStatistics statistics) const {
  if (norm_.has_value() && norm_->is_layer_norm()) {
    // If a single row is read, only that row needs to be normalised.
    const at::Tensor row = Row(kind_, x, real);
    if (row.defined()) return LayerNorm(row, norm_->map());
  }
  const at::Tensor y = norm_.has_value() ? norm_->Forward(x, real, statistics) : x;
  const at::Tensor row = Row(kind_, y, real);
  if (row.defined()) return row;
  if (kind_ == ModelConfig::MEAN_OF_ALL || !real.defined()) return y.mean(1);
  const at::Tensor sum = SumOfReal(y, real);
  if (kind_ == ModelConfig::SUM_OVER_N) return sum / y.size(1);
  return sum / real.sum(1, true).clamp_min(1);
}

}  // namespace lra
