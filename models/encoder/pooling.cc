#include "models/encoder/pooling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

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

// [B, N, E] -> [B, E], the largest real value of each channel.
at::Tensor MaxOfReal(const at::Tensor& x, const at::Tensor& real) {
  if (!real.defined()) return x.amax(1);
  constexpr double kLowest = -std::numeric_limits<float>::max();
  const at::Tensor highest = at::where(real.unsqueeze(2), x, kLowest).amax(1);
  return highest.masked_fill(real.any(1, true).logical_not(), 0);
}

// [B, N, E] -> [B, E]: sum_n softmax_n(q . x_n / sqrt(E)) x_n over real positions.
at::Tensor MeanByQuery(const at::Tensor& query, const at::Tensor& x, const at::Tensor& real) {
  at::Tensor scores = at::matmul(x, query) / std::sqrt(static_cast<double>(x.size(2)));  // [B, N]
  at::Tensor values = x;
  if (real.defined()) {
    constexpr double kNoWeight = -1e30;  // finite: a row without real positions has a softmax
    scores = scores.masked_fill(real.logical_not(), kNoWeight);
    values = x.masked_fill(real.logical_not().unsqueeze(2), 0);
  }
  return at::matmul(at::softmax(scores, 1).unsqueeze(1), values).squeeze(1);
}

// The row that the pooling reads, for kinds that read a single one; undefined for the others.
at::Tensor Row(ModelConfig::Pooling kind, const at::Tensor& x, const at::Tensor& real) {
  if (kind == ModelConfig::LAST_TOKEN) return LastReal(x, real);
  if (kind == ModelConfig::CLS || kind == ModelConfig::FIRST) return x.select(1, 0);
  return at::Tensor();
}

}  // namespace

Pooling::Pooling(const ModelConfig& config, ParameterStore* parameters) : kind_(config.pooling()) {
  if (HasFinalNorm(config)) {
    norm_.emplace(config, "encoder.norm", parameters);
  }
  if (kind_ == ModelConfig::QUERY)
    query_ = parameters->Create("encoder.query", {config.width()}, Initializer::Zeros());
  if (config.pooled_norm() != ModelConfig::OVER_EXAMPLES) return;
  ModelConfig batch = config;
  batch.set_norm(ModelConfig::BATCH);
  pooled_norm_.emplace(batch, "encoder.pooled_norm", parameters);
}

bool Pooling::ReadsFirstOnly() const {
  const bool is_first = kind_ == ModelConfig::CLS || kind_ == ModelConfig::FIRST;
  return is_first && (!norm_.has_value() || norm_->is_layer_norm());
}

at::Tensor Pooling::Forward(const at::Tensor& x, const at::Tensor& real,
                            BatchStatistics statistics) const {
  const at::Tensor pooled = Pool(x, real, statistics);
  if (!pooled_norm_) return pooled;
  return pooled_norm_->Forward(pooled.unsqueeze(1), at::Tensor(), statistics).squeeze(1);
}

at::Tensor Pooling::Pool(const at::Tensor& x, const at::Tensor& real,
                         BatchStatistics statistics) const {
  if (norm_.has_value() && norm_->is_layer_norm()) {
    // If a single row is read, only that row needs to be normalised.
    const at::Tensor row = Row(kind_, x, real);
    if (row.defined()) return LayerNorm(row, norm_->map());
  }
  const at::Tensor y = norm_.has_value() ? norm_->Forward(x, real, statistics) : x;
  const at::Tensor row = Row(kind_, y, real);
  if (row.defined()) return row;
  if (kind_ == ModelConfig::MAX) return MaxOfReal(y, real);
  if (kind_ == ModelConfig::QUERY) return MeanByQuery(query_, y, real);
  if (kind_ == ModelConfig::MEAN_OF_ALL || !real.defined()) return y.mean(1);
  const at::Tensor sum = SumOfReal(y, real);
  if (kind_ == ModelConfig::SUM_OVER_N) return sum / y.size(1);
  return sum / real.sum(1, true).clamp_min(1);
}

}  // namespace lra
