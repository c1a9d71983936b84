#include "models/token_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <c10/core/GradMode.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "models/base/host_copy.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "models/block_facts.h"
#include "models/encoder/sequences.h"
#include "models/layers/dropout_sites.h"
#include "models/layers/norm.h"

namespace lra {
namespace {

TaskSpec WithHiddenId(TaskSpec spec) {
  spec.set_vocabulary_size(spec.vocabulary_size() + 1);
  return spec;
}

// Returns the configuration of the encoder while it guesses tokens: CAUSAL needs causal attention.
ExperimentConfig StageConfig(ExperimentConfig config) {
  FillLegacyValues(&config);
  if (config.pretrain().objective() == PretrainConfig::CAUSAL)
    config.mutable_attention()->set_causal(true);
  return config;
}

class EncoderTokenModel : public TokenModel {
 public:
  explicit EncoderTokenModel(const ExperimentConfig& config)
      : config_(StageConfig(config)), parameters_(MakeParameterStore(config_)) {}

  absl::Status Build(const TaskSpec& spec) {
    hidden_id_ = spec.vocabulary_size();
    LRA_ASSIGN_OR_RETURN(Encoder encoder,
                         Encoder::Create(config_, WithHiddenId(spec), &parameters_));
    encoder_.emplace(std::move(encoder));
    if (HasFinalNorm(config_.model())) {
      norm_.emplace(config_.model(), "encoder.norm", &parameters_);
    }
    weight_ = parameters_.Create("pretrain.head.weight", {hidden_id_, config_.model().width()},
                                 Initializer::LecunNormal());
    bias_ = parameters_.Create("pretrain.head.bias", {hidden_id_},
                               Initializer::Bias(config_.model().width()));
    return absl::OkStatus();
  }

  std::vector<at::Tensor> OnHost(const HostBatch& batch, const TokenPlaces& places,
                                 bool is_training) const override {
    Sequences texts = Texts(batch, places.column);
    const std::vector<int32_t> shown = Shown(texts, places.hidden);
    texts.tokens = shown;
    std::vector<at::Tensor> all;
    encoder_->AddOnHost(texts, &all);
    all.push_back(Rows(texts, places.positions));
    all.push_back(is_training ? ExampleIds(batch) : at::Tensor());
    return all;
  }

  at::Tensor Forward(const HostBatch& batch, const TokenPlaces& places,
                     const ForwardContext& context) const override {
    return Guess(batch, places, context, nullptr);
  }

  void VisitActivations(const HostBatch& batch, const TokenPlaces& places,
                        const ForwardContext& context,
                        const Encoder::ActivationVisitor& visit) const override {
    const Encoder::ActivationVisitor named = places.column == 0 ? visit : OfSecondTexts(visit);
    named("logits", Guess(batch, places, context, &named));
  }

  bool depends_on_padding() const override { return encoder_->depends_on_padding(); }

  void MoveTo(at::Device device) override {
    parameters_.MoveTo(device);
    device_ = device;
  }

  const ParameterStore& parameters() const override { return parameters_; }

 private:
  // `visit` may be null.
  at::Tensor Guess(const HostBatch& batch, const TokenPlaces& places, const ForwardContext& context,
                   const Encoder::ActivationVisitor* visit) const {
    const std::vector<at::Tensor> moved =
        context.moved != nullptr ? *context.moved
                                 : CopyTogether(OnHost(batch, places, context.training), device_);
    Sequences texts = Texts(batch, places.column);
    texts.moved.assign(moved.begin(), moved.begin() + Encoder::kTensorsOfTexts);
    DropoutRun run = MakeDropoutRun(config_, batch, context, moved.back());
    if (places.column == 1) run.first_site = kSecondTextSites;
    const PrecisionScope precision(config_.numerics().precision() == NumericsConfig::BF16,
                                   device_.type());
    const Encoder::Encoded encoded =
        visit == nullptr ? encoder_->Forward(texts, run) : encoder_->Visit(texts, run, *visit);
    const at::Tensor y =
        norm_ ? norm_->Forward(encoded.x, encoded.real, run.statistics) : encoded.x;
    const at::Tensor& rows = moved[Encoder::kTensorsOfTexts];
    return at::linear(y.flatten(0, 1).index_select(0, rows), weight_, bias_)
        .to(at::kFloat);  // [S, V]
  }

  std::vector<int32_t> Shown(const Sequences& texts, const std::vector<uint8_t>& hidden) const {
    std::vector<int32_t> tokens(texts.tokens.begin(), texts.tokens.end());
    for (size_t i = 0; i < hidden.size(); ++i) {
      if (hidden[i] != 0) tokens[i] = static_cast<int32_t>(hidden_id_);
    }
    return tokens;
  }

  // Returns the rows of the encoder's flattened output that belong to the positions. Where there is
  // a CLS, one stands in front of each sequence.
  at::Tensor Rows(const Sequences& texts, const std::vector<int64_t>& positions) const {
    const int64_t extra = encoder_->has_cls() ? 1 : 0;
    at::Tensor rows = at::empty({static_cast<int64_t>(positions.size())}, at::kLong);
    int64_t* values = rows.mutable_data_ptr<int64_t>();
    for (size_t i = 0; i < positions.size(); ++i) {
      values[i] = positions[i] + extra * (positions[i] / texts.length + 1);
    }
    return rows;
  }

  const ExperimentConfig config_;
  int64_t hidden_id_ = 0;  // V
  ParameterStore parameters_;
  at::Device device_ = at::kCPU;
  std::optional<Encoder> encoder_;
  std::optional<Norm> norm_;
  at::Tensor weight_, bias_;
};

absl::Status CheckInputs(const TaskSpec& spec) {
  if (!spec.is_real()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "pretrain: needs tokens to guess, but view.pixels=REAL gives numbers; use IDS_PLUS_ONE");
}

// Causal pretraining must see no later token. With model.mask=OUTER what a padded query gets is the
// mean of all tokens, and view.zero_is_padding has such queries between others.
absl::Status CheckGuessesAhead(const ExperimentConfig& config) {
  if (config.pretrain().objective() != PretrainConfig::CAUSAL) return absl::OkStatus();
  const bool has_holes =
      config.model().mask() == ModelConfig::OUTER && config.view().zero_is_padding();
  if (config.model().norm() != ModelConfig::BATCH && !has_holes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "pretrain.objective: is CAUSAL, which guesses tokens from earlier ones, but ",
      has_holes ? "view.zero_is_padding with model.mask=OUTER gives zeros the mean of all tokens"
                : "model.norm=BATCH takes its statistics over all of them",
      "; set pretrain.objective=MASKED"));
}

// Labels begin with the weights of convolutions as they are.
absl::Status CheckTapsServeLabels(const ExperimentConfig& config) {
  if (config.pretrain().objective() != PretrainConfig::CAUSAL || config.attention().causal())
    return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const std::string field, TapsField(config));
  if (field.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pretrain.objective: is CAUSAL, but attention.causal is false, and the taps of ",
                   "convolutions (", field, ") would stand for other tokens once labels begin; ",
                   "set pretrain.objective=MASKED or attention.causal=true, or leave them out"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenModel>> TokenModel::Create(const ExperimentConfig& config,
                                                               const TaskSpec& spec) {
  LRA_RETURN_IF_ERROR(CheckInputs(spec));
  LRA_RETURN_IF_ERROR(CheckGuessesAhead(config));
  LRA_RETURN_IF_ERROR(CheckTapsServeLabels(config));
  std::unique_ptr<EncoderTokenModel> model;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    model = std::make_unique<EncoderTokenModel>(config);
    return Annotate(model->Build(spec), "pretrain");
  }));
  return model;
}

void CopySharedParameters(const ParameterStore& from, const ParameterStore& to) {
  c10::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> values;
  for (const auto* list : {&from.parameters(), &from.buffers()}) {
    for (const Parameter& parameter : *list) values[parameter.name] = parameter.value;
  }
  for (const auto* list : {&to.parameters(), &to.buffers()}) {
    for (const Parameter& parameter : *list) {
      const auto it = values.find(parameter.name);
      if (it == values.end()) continue;
      at::Tensor(parameter.value).copy_(it->second.narrow(0, 0, parameter.value.size(0)));
    }
  }
}

}  // namespace lra
