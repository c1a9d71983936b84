#include "models/classifier.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/view.h"
#include "lra/status_macros.h"
#include "models/encoder/dropout_sites.h"
#include "models/encoder/embedding.h"
#include "models/encoder/head.h"
#include "models/encoder/layer.h"
#include "models/encoder/pooling.h"
#include "models/encoder/sequences.h"
#include "models/torch_status.h"

namespace lra {
namespace {

absl::Status Invalid(absl::string_view field, int64_t value, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": is ", value, ", must be ", wanted));
}

absl::Status CheckSizes(const ExperimentConfig& config, const TaskSpec& spec) {
  const ModelConfig& model = config.model();
  const std::pair<const char*, int64_t> positive[] = {
      {"model.layers", model.layers()},
      {"model.width", model.width()},
      {"model.heads", model.heads()},
      {"model.qkv_width", model.qkv_width()},
      {"model.mlp_width", model.mlp_width()},
      {"model.head_width", model.head_width()},
      {"view.max_length_tokens", config.view().max_length_tokens()}};
  for (const auto& [field, value] : positive) {
    if (value < 1) return Invalid(field, value, "set and at least 1");
  }
  if (model.qkv_width() % model.heads() != 0) {
    return Invalid("model.qkv_width", model.qkv_width(),
                   absl::StrCat("a multiple of model.heads, ", model.heads()));
  }
  if (model.norm_epsilon() <= 0)
    return absl::InvalidArgumentError("model.norm_epsilon: must be set and above 0");
  if (spec.vocabulary_size() < 2)
    return Invalid("vocabulary_size of the task", spec.vocabulary_size(), "at least 2");
  if (spec.classes() < 2) return Invalid("classes of the task", spec.classes(), "at least 2");
  const bool halves_head = spec.is_pair() && model.pair_head() == ModelConfig::CONCATENATION;
  if (halves_head && model.head() != ModelConfig::LINEAR && model.head_width() < 2)
    return Invalid("model.head_width", model.head_width(),
                   "at least 2: its half is a layer's width");
  if (spec.is_pair() && spec.is_real())
    return absl::InvalidArgumentError("pairs of real-valued inputs: no model reads them");
  return absl::OkStatus();
}

at::Tensor ExampleIds(const HostBatch& batch) {
  at::Tensor ids = at::empty({batch.batch}, at::kLong);
  std::copy(batch.example_ids.begin(), batch.example_ids.end(), ids.mutable_data_ptr<int64_t>());
  return ids;
}

class EncoderClassifier : public Classifier {
 public:
  EncoderClassifier(const ExperimentConfig& config, const TaskSpec& spec)
      : config_(config),
        is_pair_(spec.is_pair()),
        padding_(config),
        parameters_(config.seed()),
        embedding_(config.model(), spec, MaxTokens(), &parameters_) {}

  absl::Status AddLayersAndHead(const TaskSpec& spec) {
    for (int64_t i = 0; i < config_.model().layers(); ++i) {
      LRA_ASSIGN_OR_RETURN(EncoderLayer layer,
                           EncoderLayer::Create(config_, i, MaxTokens(), &parameters_));
      layers_.push_back(std::move(layer));
    }
    pooling_.emplace(config_.model(), &parameters_);
    head_.emplace(config_.model(), is_pair_, spec.classes(), &parameters_);
    return absl::OkStatus();
  }

  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    DropoutRun run = context.training ? TrainingRun(batch, context) : DropoutRun();
    const at::Tensor first = Encode(FirstTexts(batch), run);  // [B, E]
    at::Tensor second;
    if (is_pair_) {
      run.first_site = kSecondTextSites;
      second = Encode(SecondTexts(batch), run);
    }
    return head_->Forward(first, second);  // [B, C]
  }

  void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const override {
    VisitTexts(FirstTexts(batch), visit);
    if (is_pair_) VisitTexts(SecondTexts(batch), visit);
  }

  const ParameterStore& parameters() const override { return parameters_; }

  bool depends_on_padding() const override {
    const ModelConfig& model = config_.model();
    return model.mask() == ModelConfig::NO_MASK || model.pooling() == ModelConfig::MEAN_OF_ALL ||
           model.pooling() == ModelConfig::SUM_OVER_N ||
           !layers_.front().attention().traits().is_padding_invariant;
  }

 private:
  int64_t MaxTokens() const { return MaxBatchTokens(config_.view()) + (padding_.has_cls ? 1 : 0); }

  DropoutRun TrainingRun(const HostBatch& batch, const ForwardContext& context) const {
    DropoutRun run = {config_.model().dropout(),
                      config_.attention().dropout(),
                      config_.seed(),
                      context.step,
                      ExampleIds(batch),
                      true};
    run.statistics =
        context.updates_statistics ? BatchStatistics::kOfBatchAndLearn : BatchStatistics::kOfBatch;
    return run;
  }

  at::Tensor Embed(const Sequences& texts, const DropoutRun& run) const {
    return embedding_.Forward(texts, run.Key(kEmbeddingSite, run.probability));  // [B, N, E]
  }

  at::Tensor Encode(const Sequences& texts, const DropoutRun& run) const {
    const at::Tensor real = RealPositions(texts, padding_);
    at::Tensor x = Embed(texts, run);
    for (const EncoderLayer& layer : layers_) x = layer.Forward(x, real, run);
    return pooling_->Forward(x, real, run.statistics);
  }

  void VisitTexts(const Sequences& texts, const AttentionVisitor& visit) const {
    const DropoutRun none;
    const at::Tensor real = RealPositions(texts, padding_);
    at::Tensor x = Embed(texts, none);
    for (size_t i = 0; i < layers_.size(); ++i) {
      visit(static_cast<int64_t>(i), layers_[i].attention(),
            layers_[i].InputOfAttention(x, real, none));
      x = layers_[i].Forward(x, real, none);
    }
  }

  const ExperimentConfig config_;
  const bool is_pair_;
  const PaddingRules padding_;
  ParameterStore parameters_;
  const Embedding embedding_;
  std::vector<EncoderLayer> layers_;
  std::optional<Pooling> pooling_;
  std::optional<Head> head_;
};

}  // namespace

bool DependsOnBatch(const ModelConfig& model) { return model.norm() == ModelConfig::BATCH; }

absl::StatusOr<std::unique_ptr<Classifier>> Classifier::Create(const ExperimentConfig& config,
                                                               const TaskSpec& spec) {
  LRA_RETURN_IF_ERROR(CheckSizes(config, spec));
  std::unique_ptr<EncoderClassifier> model;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    model = std::make_unique<EncoderClassifier>(config, spec);
    return model->AddLayersAndHead(spec);
  }));
  return model;
}

}  // namespace lra
