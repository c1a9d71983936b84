#include "models/encoder/layer.h"

#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attend.h"
#include "models/encoder/dropout_sites.h"
#include "models/kernels/softmax_attention.h"
#include "models/runtime.h"

namespace lra {

// Creates parameters under one scope.
class EncoderLayer::Scope {
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

  Norm MakeNorm(absl::string_view name, const ModelConfig& model) const {
    return Norm(model, absl::StrCat(prefix_, name), parameters_);
  }

 private:
  at::Tensor Make(absl::string_view name, const std::vector<int64_t>& shape,
                  Initializer initializer) const {
    return parameters_->Create(absl::StrCat(prefix_, name), shape, initializer);
  }
  std::string prefix_;
  ParameterStore* parameters_;
};

namespace {

absl::Status CheckTraits(const AttentionConfig& config, const Traits& traits) {
  if (config.dropout() > 0 && !traits.supports_weight_dropout) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.dropout: is ", config.dropout(), ", but \"", config.name(),
                     "\" has no explicit weights to drop; set attention.dropout=0"));
  }
  if (config.causal() && traits.causality == Causality::kNever) {
    return absl::InvalidArgumentError(absl::StrCat("attention.causal: is true, but \"",
                                                   config.name(), "\" has ", NoCausalForm(traits),
                                                   "; set attention.causal=false"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Attention>> MakeAttention(const ExperimentConfig& config,
                                                         const std::string& scope,
                                                         int64_t max_length_tokens,
                                                         ParameterStore* parameters) {
  const ModelConfig& model = config.model();
  AttentionContext context;
  context.heads = model.heads();
  context.head_width = model.qkv_width() / model.heads();
  context.model_width = model.width();
  context.max_length_tokens = max_length_tokens;
  context.parameters = parameters;
  context.scope = scope;
  context.options = config.attention().options();
  context.weight_dropout = config.attention().dropout();
  LRA_ASSIGN_OR_RETURN(
      std::unique_ptr<Attention> attention,
      AttentionRegistry::Get().Create("attention", config.attention().name(), context));
  LRA_RETURN_IF_ERROR(CheckTraits(config.attention(), attention->traits()));
  return attention;
}

// attended [B, H, N, D] with the rows of padded queries replaced by what equal weights on all N
// positions give; dropout acts on these weights, too.
at::Tensor SpreadPaddedQueries(const at::Tensor& attended, const AttentionInput& input,
                               const at::Tensor& real) {
  const AutocastScope full_precision(false, attended.device().type());
  const at::Tensor equal = input.weight_dropout.active()
                               ? SoftmaxAttention(at::zeros_like(input.q), at::zeros_like(input.k),
                                                  input.v, at::Tensor(), input.weight_dropout)
                               : input.v.mean(2, /*keepdim=*/true);
  return at::where(real.view({real.size(0), 1, real.size(1), 1}), attended, equal);
}

}  // namespace

void EncoderLayer::AddProjections(const ModelConfig& model, const Scope& scope) {
  const Projections kind = attention_->traits().projections;
  const auto projection = [&](const char* name) {
    return scope.Linear(name, model.qkv_width(), model.width(), model.attention_bias());
  };
  attention_norm_ = scope.MakeNorm("attention_norm", model);
  qkv_.norm = attention_norm_.map();
  qkv_.heads = kind == Projections::kNone ? 1 : model.heads();
  qkv_.returns_input = attention_->traits().uses_layer_input;
  if (kind == Projections::kNone) return;
  qkv_.query = projection("attention.query");
  if (kind == Projections::kQueryKeyValue) qkv_.key = projection("attention.key");
  qkv_.value = projection("attention.value");
  output_.output =
      scope.Linear("attention.output", model.width(), model.qkv_width(), model.attention_bias());
}

absl::StatusOr<EncoderLayer> EncoderLayer::Create(const ExperimentConfig& config, int64_t index,
                                                  int64_t max_length_tokens,
                                                  ParameterStore* parameters) {
  const ModelConfig& model = config.model();
  const std::string prefix = absl::StrCat("encoder.layer", index, ".");
  const Scope scope(prefix, parameters);
  EncoderLayer layer;
  layer.index_ = index;
  layer.is_causal_ = config.attention().causal();
  layer.is_post_norm_ = model.norm_placement() == ModelConfig::AFTER;
  layer.mask_ = model.mask();
  LRA_ASSIGN_OR_RETURN(layer.attention_,
                       MakeAttention(config, prefix + "attention.", max_length_tokens, parameters));
  layer.AddProjections(model, scope);
  layer.mlp_norm_ = scope.MakeNorm("mlp_norm", model);
  layer.output_.norm = layer.mlp_norm_.map();
  layer.output_.hidden = scope.Linear("mlp.hidden", model.mlp_width(), model.width(), true);
  layer.output_.projection = scope.Linear("mlp.projection", model.width(), model.mlp_width(), true);
  layer.output_.gelu =
      model.activation() == ModelConfig::GELU_TANH ? GeluKind::kTanh : GeluKind::kErf;
  return layer;
}

AttentionInput EncoderLayer::InputOfAttention(const at::Tensor& x, const at::Tensor& real,
                                              const DropoutRun& dropout) const {
  Qkv qkv;  // [B, H, N, D]
  if (IsFused()) {
    qkv = NormQkv(x, qkv_);
  } else {
    qkv =
        ProjectQkv(is_post_norm_ ? x : attention_norm_.Forward(x, real, dropout.statistics), qkv_);
  }
  AttentionInput input = {qkv.q, qkv.k, qkv.v};
  if (mask_ != ModelConfig::NO_MASK) input.keep = real;
  input.weight_dropout =
      dropout.Key(SiteOf(index_, LayerSite::kAttentionWeights), dropout.weight_probability);
  input.x = qkv.x;
  input.causal = is_causal_;
  input.is_training = dropout.is_training;
  return input;
}

at::Tensor EncoderLayer::Attend(const at::Tensor& x, const at::Tensor& real,
                                const DropoutRun& dropout) const {
  const AttentionInput input = InputOfAttention(x, real, dropout);
  const at::Tensor attended = AttendInFullPrecision(*attention_, input);  // [B, H, N, D]
  const bool is_spread = mask_ == ModelConfig::OUTER && real.defined() &&
                         attention_->traits().projections != Projections::kNone;
  return is_spread ? SpreadPaddedQueries(attended, input, real) : attended;
}

at::Tensor EncoderLayer::ForwardGeneric(const at::Tensor& attended, const at::Tensor& x,
                                        const at::Tensor& real, const OutputMlpDropout& keys,
                                        BatchStatistics statistics) const {
  const at::Tensor h = DropoutAdd(ProjectOutput(attended, output_), x, keys.attention_output);
  if (!is_post_norm_) {
    const at::Tensor y = mlp_norm_.Forward(h, real, statistics);
    return DropoutAdd(Mlp(y, output_, keys.hidden), h, keys.mlp_output);
  }
  const at::Tensor y = attention_norm_.Forward(h, real, statistics);
  return mlp_norm_.Forward(DropoutAdd(Mlp(y, output_, keys.hidden), y, keys.mlp_output), real,
                           statistics);
}

at::Tensor EncoderLayer::Forward(const at::Tensor& x, const at::Tensor& real,
                                 const DropoutRun& dropout) const {
  const auto key = [&](LayerSite place, float probability) {
    return dropout.Key(SiteOf(index_, place), probability);
  };
  const at::Tensor attended = Attend(x, real, dropout);
  const OutputMlpDropout keys = {key(LayerSite::kAttentionOutput, dropout.probability),
                                 key(LayerSite::kMlpHidden, dropout.probability),
                                 key(LayerSite::kMlpOutput, dropout.probability)};
  return IsFused() ? OutputMlp(attended, x, output_, keys)
                   : ForwardGeneric(attended, x, real, keys, dropout.statistics);  // [B, N, E]
}

}  // namespace lra
