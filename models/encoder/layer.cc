#include "models/encoder/layer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/encoder/dropout_sites.h"

namespace lra {
namespace {

// Creates parameters under one scope.
class Scope {
 public:
  Scope(std::string prefix, ParameterStore* parameters)
      : prefix_(std::move(prefix)), parameters_(parameters) {}

  // Xavier-uniform weight [out, in]. Biases start at 0 (the official MLP's: normal with deviation
  // 1e-6).
  LinearMap Linear(absl::string_view name, int64_t out, int64_t in, bool has_bias) const {
    LinearMap map;
    map.weight = Make(absl::StrCat(name, ".weight"), {out, in}, Initializer::XavierUniform());
    if (has_bias) map.bias = Make(absl::StrCat(name, ".bias"), {out}, Initializer::Zeros());
    return map;
  }

  NormMap Norm(absl::string_view name, int64_t width, double epsilon) const {
    return {Make(absl::StrCat(name, ".weight"), {width}, Initializer::Ones()),
            Make(absl::StrCat(name, ".bias"), {width}, Initializer::Zeros()), epsilon};
  }

 private:
  at::Tensor Make(absl::string_view name, const std::vector<int64_t>& shape,
                  Initializer initializer) const {
    return parameters_->Create(absl::StrCat(prefix_, name), shape, initializer);
  }
  std::string prefix_;
  ParameterStore* parameters_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeAttention(const ExperimentConfig& config,
                                                         const std::string& scope,
                                                         int64_t max_length_tokens,
                                                         ParameterStore* parameters) {
  const ModelConfig& model = config.model();
  AttentionContext context;
  context.heads = model.heads();
  context.head_width = model.qkv_width() / model.heads();
  context.max_length_tokens = max_length_tokens;
  context.parameters = parameters;
  context.scope = scope;
  context.options = config.attention().options();
  context.weight_dropout = config.attention().dropout();
  LRA_ASSIGN_OR_RETURN(
      std::unique_ptr<Attention> attention,
      AttentionRegistry::Get().Create("attention", config.attention().name(), context));
  if (context.weight_dropout > 0 && !attention->traits().supports_weight_dropout) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention.dropout: is ", context.weight_dropout, ", but \"", config.attention().name(),
        "\" has no explicit weights to drop; set attention.dropout=0"));
  }
  return attention;
}

}  // namespace

absl::StatusOr<EncoderLayer> EncoderLayer::Create(const ExperimentConfig& config, int64_t index,
                                                  int64_t max_length_tokens,
                                                  ParameterStore* parameters) {
  const ModelConfig& model = config.model();
  const std::string prefix = absl::StrCat("encoder.layer", index, ".");
  const Scope scope(prefix, parameters);
  const bool has_bias = model.attention_bias();
  EncoderLayer layer;
  layer.index_ = index;
  layer.qkv_.heads = model.heads();
  layer.qkv_.norm = scope.Norm("attention_norm", model.width(), model.norm_epsilon());
  layer.qkv_.query = scope.Linear("attention.query", model.qkv_width(), model.width(), has_bias);
  layer.qkv_.key = scope.Linear("attention.key", model.qkv_width(), model.width(), has_bias);
  layer.qkv_.value = scope.Linear("attention.value", model.qkv_width(), model.width(), has_bias);
  layer.output_.output =
      scope.Linear("attention.output", model.width(), model.qkv_width(), has_bias);
  layer.output_.norm = scope.Norm("mlp_norm", model.width(), model.norm_epsilon());
  layer.output_.hidden = scope.Linear("mlp.hidden", model.mlp_width(), model.width(), true);
  layer.output_.projection = scope.Linear("mlp.projection", model.width(), model.mlp_width(), true);
  layer.output_.gelu =
      model.activation() == ModelConfig::GELU_TANH ? GeluKind::kTanh : GeluKind::kErf;
  LRA_ASSIGN_OR_RETURN(layer.attention_,
                       MakeAttention(config, prefix + "attention.", max_length_tokens, parameters));
  return layer;
}

at::Tensor EncoderLayer::Forward(const at::Tensor& x, const at::Tensor& keep,
                                 const DropoutRun& dropout) const {
  const auto key = [&](LayerSite place, float probability) {
    return dropout.Key(SiteOf(index_, place), probability);
  };
  const Qkv qkv = NormQkv(x, qkv_);  // [B, H, N, D]
  const AttentionInput input = {qkv.q, qkv.k, qkv.v, keep,
                                key(LayerSite::kAttentionWeights, dropout.weight_probability)};
  const at::Tensor attended = attention_->Attend(input);  // [B, H, N, D]
  return OutputMlp(attended, x, output_,
                   {key(LayerSite::kAttentionOutput, dropout.probability),
                    key(LayerSite::kMlpHidden, dropout.probability),
                    key(LayerSite::kMlpOutput, dropout.probability)});  // [B, N, E]
}

}  // namespace lra
