#include "models/classifier.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/encoder/dropout_sites.h"
#include "models/encoder/embedding.h"
#include "models/encoder/layer.h"
#include "models/encoder/pooling.h"
#include "models/runtime.h"
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
  if (spec.is_pair())
    return absl::InvalidArgumentError("pairs of texts need a model with two inputs: not there yet");
  if (spec.is_real()) {
    return absl::InvalidArgumentError(
        "view.pixels=REAL needs a model that reads numbers: not there yet; use IDS_PLUS_ONE");
  }
  return absl::OkStatus();
}

// True for real tokens (CLS always): [B, N]; undefined where nothing is padded.
at::Tensor KeepMask(const HostBatch& batch, bool has_cls, at::Device device) {
  const bool is_padded = std::any_of(batch.lengths.begin(), batch.lengths.end(),
                                     [&](int32_t n) { return n != batch.length; });
  if (!is_padded) return at::Tensor();
  const int64_t extra = has_cls ? 1 : 0, width = batch.length + extra;
  at::Tensor keep = at::empty({batch.batch, width}, at::kBool);
  bool* values = keep.mutable_data_ptr<bool>();
  for (int64_t b = 0; b < batch.batch; ++b) {
    const int64_t length = batch.lengths[b] + extra;
    std::fill_n(values + b * width, length, true);
    std::fill_n(values + b * width + length, width - length, false);
  }
  return keep.to(device);
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
        has_cls_(config.model().pooling() == ModelConfig::CLS),
        parameters_(config.seed()),
        embedding_(config.model(), spec, MaxTokens(), &parameters_) {}

  absl::Status AddLayersAndHead(const TaskSpec& spec) {
    for (int64_t i = 0; i < config_.model().layers(); ++i) {
      LRA_ASSIGN_OR_RETURN(EncoderLayer layer,
                           EncoderLayer::Create(config_, i, MaxTokens(), &parameters_));
      layers_.push_back(std::move(layer));
    }
    pooling_.emplace(config_.model(), &parameters_);
    head_.emplace(config_.model(), spec.classes(), &parameters_);
    return absl::OkStatus();
  }

  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    const DropoutRun dropout = DropoutOf(batch, context);
    const AutocastScope precision(IsBf16(), device_.type());
    const at::Tensor keep = KeepMask(batch, has_cls_, device_);
    at::Tensor x =
        embedding_.Forward(batch, dropout.Key(kEmbeddingSite, dropout.probability));  // [B, N, E]
    for (const EncoderLayer& layer : layers_) x = layer.Forward(x, keep, dropout);
    return head_->Forward(pooling_->Forward(x, keep)).to(at::kFloat);  // [B, C]
  }

  void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const override {
    const DropoutRun none;
    const AutocastScope precision(IsBf16(), device_.type());
    const at::Tensor keep = KeepMask(batch, has_cls_, device_);
    at::Tensor x = embedding_.Forward(batch, none.Key(kEmbeddingSite, 0));
    for (size_t i = 0; i < layers_.size(); ++i) {
      visit(static_cast<int64_t>(i), layers_[i].attention(),
            layers_[i].InputOfAttention(x, keep, none));
      x = layers_[i].Forward(x, keep, none);
    }
  }

  const ParameterStore& parameters() const override { return parameters_; }

  void MoveTo(at::Device device) override {
    parameters_.MoveTo(device);
    device_ = device;
  }

  void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                        const ActivationVisitor& visit) const override {
    const DropoutRun dropout = DropoutOf(batch, context);
    const AutocastScope precision(IsBf16(), device_.type());
    const at::Tensor keep = KeepMask(batch, has_cls_, device_);
    at::Tensor x = embedding_.Forward(batch, dropout.Key(kEmbeddingSite, dropout.probability));
    visit("embedding", x);
    for (size_t i = 0; i < layers_.size(); ++i) {
      visit(absl::StrCat("layer ", i, " attention"), layers_[i].Attend(x, keep, dropout));
      x = layers_[i].Forward(x, keep, dropout);
      visit(absl::StrCat("layer ", i), x);
    }
    const at::Tensor pooled = pooling_->Forward(x, keep);
    visit("pooled", pooled);
    visit("logits", head_->Forward(pooled));
  }

 private:
  bool IsBf16() const { return config_.numerics().precision() == NumericsConfig::BF16; }

  DropoutRun DropoutOf(const HostBatch& batch, const ForwardContext& context) const {
    if (!context.training) return {};
    return {config_.model().dropout(),
            config_.attention().dropout(),
            config_.seed(),
            context.step,
            ExampleIds(batch),
            true};
  }

  int64_t MaxTokens() const { return config_.view().max_length_tokens() + (has_cls_ ? 1 : 0); }

  const ExperimentConfig config_;
  const bool has_cls_;
  ParameterStore parameters_;
  at::Device device_ = at::kCPU;
  const Embedding embedding_;
  std::vector<EncoderLayer> layers_;
  std::optional<Pooling> pooling_;
  std::optional<Head> head_;
};

}  // namespace

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
