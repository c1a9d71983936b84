#include "models/encoder/encoder.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/view.h"
#include "lra/status_macros.h"
#include "models/encoder/dropout_sites.h"

namespace lra {
namespace {

at::Tensor ExampleIds(const HostBatch& batch) {
  at::Tensor ids = at::empty({batch.batch}, at::kLong);
  std::copy(batch.example_ids.begin(), batch.example_ids.end(), ids.mutable_data_ptr<int64_t>());
  return ids;
}

}  // namespace

DropoutRun MakeDropoutRun(const ExperimentConfig& config, const HostBatch& batch,
                          const ForwardContext& context) {
  if (!context.training) return {};
  DropoutRun run = {config.model().dropout(),
                    config.attention().dropout(),
                    config.seed(),
                    context.step,
                    ExampleIds(batch),
                    true};
  run.statistics =
      context.updates_statistics ? BatchStatistics::kOfBatchAndLearn : BatchStatistics::kOfBatch;
  return run;
}

absl::StatusOr<Encoder> Encoder::Create(const ExperimentConfig& config, const TaskSpec& spec,
                                        ParameterStore* parameters) {
  const int64_t max_tokens =
      MaxBatchTokens(config.view()) + (config.model().pooling() == ModelConfig::CLS ? 1 : 0);
  Encoder encoder(config, spec, max_tokens, parameters);
  for (int64_t i = 0; i < config.model().layers(); ++i) {
    LRA_ASSIGN_OR_RETURN(EncoderLayer layer,
                         EncoderLayer::Create(config, i, max_tokens, parameters));
    encoder.layers_.push_back(std::move(layer));
  }
  return encoder;
}

bool Encoder::depends_on_padding() const {
  return !is_masked_ || !attention().traits().is_padding_invariant;
}

Encoder::Encoded Encoder::Start(const Sequences& texts, const DropoutRun& run) const {
  const at::Tensor x = embedding_.Forward(texts, run.Key(kEmbeddingSite, run.probability));
  const at::Tensor real = RealPositions(texts, padding_);
  return {x, real.defined() ? real.to(x.device()) : real};
}

Encoder::Encoded Encoder::Forward(const Sequences& texts, const DropoutRun& run) const {
  Encoded encoded = Start(texts, run);
  for (const EncoderLayer& layer : layers_) encoded.x = layer.Forward(encoded.x, encoded.real, run);
  return encoded;
}

Encoder::Encoded Encoder::Visit(const Sequences& texts, const DropoutRun& run,
                                const ActivationVisitor& visit) const {
  Encoded encoded = Start(texts, run);
  visit("embedding", encoded.x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    visit(absl::StrCat("layer ", i, " attention"), layers_[i].Attend(encoded.x, encoded.real, run));
    encoded.x = layers_[i].Forward(encoded.x, encoded.real, run);
    visit(absl::StrCat("layer ", i), encoded.x);
  }
  return encoded;
}

void Encoder::VisitAttention(const Sequences& texts, const AttentionVisitor& visit) const {
  const DropoutRun none;
  Encoded encoded = Start(texts, none);
  for (size_t i = 0; i < layers_.size(); ++i) {
    visit(static_cast<int64_t>(i), layers_[i].attention(),
          layers_[i].InputOfAttention(encoded.x, encoded.real, none));
    encoded.x = layers_[i].Forward(encoded.x, encoded.real, none);
  }
}

Encoder::ActivationVisitor OfSecondTexts(const Encoder::ActivationVisitor& visit) {
  return [&visit](absl::string_view name, const at::Tensor& value) {
    visit(absl::StrCat("second text: ", name), value);
  };
}

}  // namespace lra
