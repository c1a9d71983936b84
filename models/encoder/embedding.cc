#include "models/encoder/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/base/shapes_only.h"
#include "models/kernels/token_embedding.h"

namespace lra {
namespace {

constexpr double kPositionStddev = 0.02;
constexpr int64_t kPaddingId = 0;
constexpr double kSmoothIds = 32;  // see ModelConfig.EmbeddingStart

// Makes a tensor [B, N]. It is a copy, because the backward needs it when the batch is gone.
template <class T>
at::Tensor CopyOf(absl::Span<const T> values, const Sequences& sequences, at::ScalarType type) {
  at::Tensor tensor = at::empty({sequences.batch, sequences.length}, type);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<T>());
  return tensor;
}

// Positions that are added; undefined where none are, or where they are learned.
at::Tensor FixedPositions(const ModelConfig& config, const TaskSpec& spec,
                          int64_t max_length_tokens) {
  if (IsShapesOnly()) return at::Tensor();
  if (config.positions() == ModelConfig::SINUSOID)
    return SinusoidTable(max_length_tokens, config.width());
  if (config.positions() == ModelConfig::CONCATENATED)
    return SinusoidTable(max_length_tokens, config.width() / 2);
  if (config.positions() != ModelConfig::SINUSOID_2D) return at::Tensor();
  const at::Tensor table = SinusoidTable2D(spec.image_side_pixels(), config.width());
  if (config.pooling() != ModelConfig::CLS) return table;
  return at::constant_pad_nd(table, {0, 0, 1, 0});  // CLS stands nowhere
}

PaddingRules WithoutCls(PaddingRules rules) {
  rules.has_cls = false;
  return rules;
}

// The id whose vector gets no gradient: padding, unless padded positions affect the logits.
int64_t PaddingId(const ModelConfig& config, const TaskSpec& spec) {
  const bool counts =
      config.mask() == ModelConfig::NO_MASK || config.pooling() == ModelConfig::MEAN_OF_ALL;
  return spec.zero_is_token() || counts ? -1 : kPaddingId;
}

Initializer TokenStart(const ModelConfig& config) {
  if (config.embedding_start() == ModelConfig::SMOOTH)
    return Initializer::Smooth(config.embedding_stddev(), kSmoothIds);
  return Initializer::Normal(config.embedding_stddev());
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

at::Tensor SinusoidTable2D(int64_t side, int64_t width) {
  const at::Tensor line = SinusoidTable(side, width / 2);
  const std::vector<int64_t> square = {side, side, width / 2};
  return at::cat({line.unsqueeze(1).expand(square), line.unsqueeze(0).expand(square)}, 2)
      .flatten(0, 1);
}

Embedding::Embedding(const ExperimentConfig& experiment, const TaskSpec& spec,
                     int64_t max_length_tokens, ParameterStore* parameters)
    : max_length_tokens_(max_length_tokens),
      padding_id_(PaddingId(experiment.model(), spec)),
      is_beside_(experiment.model().positions() == ModelConfig::CONCATENATED),
      text_(WithoutCls(PaddingRules(experiment))) {
  const ModelConfig& config = experiment.model();
  const int64_t width = is_beside_ ? config.width() / 2 : config.width();
  if (spec.is_real()) {
    values_.weight =
        parameters->Create("embedding.value.weight", {width, 1}, Initializer::LecunNormal());
    values_.bias = parameters->Create("embedding.value.bias", {width}, Initializer::Bias(1));
  } else {
    tokens_ = parameters->Create("embedding.token.weight", {spec.vocabulary_size(), width},
                                 TokenStart(config));
  }
  if (config.positions() == ModelConfig::LEARNED) {
    positions_ = parameters->Create("embedding.position.weight", {max_length_tokens, width},
                                    Initializer::Normal(kPositionStddev));
  } else {
    table_ = DeviceConstant(FixedPositions(config, spec, max_length_tokens));
  }
  if (config.pooling() == ModelConfig::CLS) {
    cls_ = parameters->Create("embedding.cls", {1, 1, width}, Initializer::Zeros());
  }
  if (config.stem_tokens() > 0) stem_.emplace(experiment, parameters);
}

at::Tensor Embedding::InputsOnHost(const Sequences& sequences) const {
  const auto size = static_cast<size_t>(sequences.batch * sequences.length);
  if (!tokens_.defined()) {
    TORCH_CHECK(sequences.values.size() == size, "the batch has no real values");
    return CopyOf(sequences.values, sequences, at::kFloat);
  }
  TORCH_CHECK(sequences.tokens.size() == size, "the batch has no tokens");
  if (size == 0) return CopyOf(sequences.tokens, sequences, at::kInt);
  const auto [low, high] = std::minmax_element(sequences.tokens.begin(), sequences.tokens.end());
  TORCH_CHECK(*low >= 0 && *high < tokens_.size(0), "token id ", *low < 0 ? *low : *high,
              " is outside 0 .. ", tokens_.size(0) - 1);
  return CopyOf(sequences.tokens, sequences, at::kInt);
}

std::vector<at::Tensor> Embedding::OnHost(const Sequences& sequences,
                                          const at::Tensor& real) const {
  return {InputsOnHost(sequences), real, stem_ ? RealPositions(sequences, text_) : at::Tensor()};
}

at::Tensor Embedding::Inputs(const at::Tensor& moved) const {
  return tokens_.defined() ? EmbedTokens(tokens_, moved, padding_id_)
                           : at::linear(moved.unsqueeze(-1), values_.weight, values_.bias);
}

at::Tensor Embedding::Forward(const Sequences& sequences, const DropoutKey& dropout,
                              at::Tensor* real) const {
  std::vector<at::Tensor> moved = sequences.moved;
  if (moved.empty())
    moved = CopyTogether(OnHost(sequences, real != nullptr ? *real : at::Tensor()), device());
  if (real != nullptr) *real = moved[1];
  at::Tensor x = Inputs(moved[0]);  // [B, N, E]
  if (stem_) x = stem_->Forward(x, moved[2]);
  if (cls_.defined()) x = at::cat({cls_.expand({sequences.batch, 1, -1}), x}, 1);
  return Dropout(WithPositions(x, 0), dropout);
}

at::Tensor Embedding::InitWindow(int64_t batch, const at::TensorOptions& options) const {
  return stem_ ? stem_->InitWindow(batch, options) : at::Tensor();
}

at::Tensor Embedding::Extend(const at::Tensor& ids, int64_t first, at::Tensor* window) const {
  TORCH_CHECK(tokens_.defined(), "real values do not stream");
  at::Tensor x = Inputs(ids.to(device()));
  if (stem_ && x.size(1) > 0) x = stem_->Extend(x, window);
  if (first == 0 && cls_.defined()) x = at::cat({cls_.expand({x.size(0), 1, -1}), x}, 1);
  return WithPositions(x, first);
}

at::Tensor Embedding::WithPositions(const at::Tensor& x, int64_t first) const {
  const int64_t end = first + x.size(1);
  TORCH_CHECK(end <= max_length_tokens_, "a batch of ", end, " tokens exceeds the model's ",
              max_length_tokens_);
  const at::Tensor positions = positions_.defined() ? positions_ : table_.On(device());
  if (!positions.defined()) return x;
  const at::Tensor here = positions.narrow(0, first, x.size(1));  // [N, E] or its half
  if (!is_beside_) return x + here;
  return at::cat({x, here.unsqueeze(0).expand({x.size(0), -1, -1})}, 2);
}

}  // namespace lra
