#include "models/encoder/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace lra {
namespace {

constexpr double kPositionStddev = 0.02;
constexpr int64_t kPaddingId = 0;

// [B, N]; a copy, because the backward needs it after the batch is gone.
at::Tensor TokenTensor(const HostBatch& batch) {
  at::Tensor tokens = at::empty({batch.batch, batch.length}, at::kInt);
  std::copy(batch.tokens.begin(), batch.tokens.end(), tokens.mutable_data_ptr<int32_t>());
  return tokens;
}

}  // namespace

at::Tensor SinusoidTable(int64_t tokens, int64_t width) {
  at::Tensor table = at::empty({tokens, width}, at::kFloat);
  float* values = table.mutable_data_ptr<float>();
  for (int64_t p = 0; p < tokens; ++p) {
    for (int64_t c = 0; c < width; ++c) {
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(c / 2 * 2) / width);
      values[p * width + c] = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

Embedding::Embedding(const ModelConfig& config, const TaskSpec& spec, int64_t max_length_tokens,
                     ParameterStore* parameters)
    : padding_id_(spec.zero_is_token() ? -1 : kPaddingId) {
  const int64_t width = config.width();
  tokens_ = parameters->Create("embedding.token.weight", {spec.vocabulary_size(), width},
                               Initializer::Normal(config.embedding_stddev()));
  if (config.positions() == ModelConfig::LEARNED) {
    positions_ = parameters->Create("embedding.position.weight", {max_length_tokens, width},
                                    Initializer::Normal(kPositionStddev));
  } else {
    positions_ = SinusoidTable(max_length_tokens, width);
  }
  if (config.pooling() == ModelConfig::CLS) {
    cls_ = parameters->Create("embedding.cls", {1, 1, width}, Initializer::Zeros());
  }
}

at::Tensor Embedding::Forward(const HostBatch& batch, const DropoutKey& dropout) const {
  const auto [low, high] = std::minmax_element(batch.tokens.begin(), batch.tokens.end());
  TORCH_CHECK(*low >= 0 && *high < tokens_.size(0), "token id ", *low < 0 ? *low : *high,
              " is outside 0 .. ", tokens_.size(0) - 1);
  at::Tensor x = at::embedding(tokens_, TokenTensor(batch).to(tokens_.device()),
                               padding_id_);  // [B, N, E]
  if (cls_.defined()) x = at::cat({cls_.expand({batch.batch, 1, -1}), x}, 1);
  TORCH_CHECK(x.size(1) <= positions_.size(0), "a batch of ", x.size(1),
              " tokens exceeds the model's ", positions_.size(0));
  return Dropout(x + positions_.narrow(0, 0, x.size(1)).to(x.device()), dropout);
}

}  // namespace lra
