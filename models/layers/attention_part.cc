#include "models/layers/attention_part.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/base/shapes_only.h"
#include "models/interface/attend.h"
#include "models/interface/create.h"
#include "models/kernels/softmax_attention.h"
#include "models/layers/definitions.h"
#include "models/layers/dropout_sites.h"
#include "models/layers/parameter_scope.h"
#include "models/layers/token_filter.h"

namespace lra {
namespace {

absl::Status CheckSizes(const ModelConfig& model) {
  for (const auto& [field, value] :
       {std::pair{"model.heads", model.heads()}, {"model.qkv_width", model.qkv_width()}}) {
    if (value < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": is ", value, ", must be set and at least 1"));
    }
  }
  if (model.qkv_width() % model.heads() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("model.qkv_width: is ", model.qkv_width(),
                                                 ", must be a multiple of model.heads, ",
                                                 model.heads()));
}

absl::Status CheckRotary(const ModelConfig& model, const std::string& attention,
                         const Traits& traits) {
  if (model.positions() != ModelConfig::ROTARY) return absl::OkStatus();
  if (!traits.rotary_reason.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("model.positions: is ROTARY, but \"", attention,
                                                   "\" cannot have it: ", traits.rotary_reason,
                                                   "; set model.positions=SINUSOID"));
  }
  if (model.qkv_width() / model.heads() % 2 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "model.qkv_width: is ", model.qkv_width(), ", must be a multiple of twice ", "model.heads, ",
      model.heads(), ": model.positions=ROTARY turns channels in pairs"));
}

// Press et al. 2022, section 3: 2^(-8 h / H) in head h = 1 .. H.
std::vector<double> DistanceSlopes(const ModelConfig& model) {
  std::vector<double> slopes;
  if (model.positions() != ModelConfig::ALIBI) return slopes;
  for (int head = 1; head <= model.heads(); ++head)
    slopes.push_back(std::exp2(-8.0 * head / model.heads()));
  return slopes;
}

absl::Status CheckTraits(const ModelConfig& model, const AttentionConfig& config,
                         const Traits& traits) {
  LRA_RETURN_IF_ERROR(CheckRotary(model, config.name(), traits));
  if (model.positions() == ModelConfig::ALIBI && !traits.takes_distance_slopes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.positions: is ALIBI, but the weights of \"", config.name(),
        "\" cannot be multiplied by a function of distance; set model.positions=SINUSOID"));
  }
  if (model.inner_dropout() && !traits.supports_inner_dropout) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.inner_dropout: is true, but \"", config.name(),
                     "\" has no inner activation; set model.inner_dropout=false"));
  }
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

absl::StatusOr<std::unique_ptr<Attention>> MakeAttention(const BlockContext& block) {
  if (block.attention.name() == kNoAttention) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.name: is \"", kNoAttention,
                     "\", but the block mixes tokens by an attention; see: lra list attentions"));
  }
  AttentionContext context;
  context.heads = block.model.heads();
  context.head_width = block.model.qkv_width() / block.model.heads();
  context.model_width = block.model.width();
  context.max_length_tokens = block.max_length_tokens;
  context.parameters = block.parameters;
  context.scope = block.scope + "attention.";
  context.options = block.attention.options();
  context.distance_slopes = DistanceSlopes(block.model);
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Attention> attention,
                       CreateAttention(block.attention.name(), context));
  LRA_RETURN_IF_ERROR(CheckTraits(block.model, block.attention, attention->traits()));
  return attention;
}

// Near the identity: a filter's own token counts 1.
at::Tensor MakeFilters(const BlockContext& context) {
  constexpr double kStddev = 0.02;
  const int64_t taps = context.model.attention_filter_tokens();
  at::Tensor filters = ParameterScope(context).Make(
      "attention.filter", {taps, context.model.width()}, Initializer::Normal(kStddev));
  if (IsShapesOnly()) return filters;
  const c10::NoGradGuard no_gradient;
  filters[OwnTap(taps, context.attention.causal())].add_(1);
  return filters;
}

// [B, N] -> [B, 1, N, 1]
at::Tensor Rows(const at::Tensor& real) { return real.view({real.size(0), 1, real.size(1), 1}); }

// What equal weights on all N positions give to every query; dropout acts on these weights, too.
at::Tensor EqualWeights(const AttentionInput& input) {
  const AutocastScope without_autocast(false, input.v.device().type());
  return input.weight_dropout.active()
             ? SoftmaxAttention(at::zeros_like(input.q), at::zeros_like(input.k), input.v,
                                at::Tensor(), input.weight_dropout)
             : input.v.mean(2, /*keepdim=*/true);
}

at::Tensor EqualWeightsDefinition(const AttentionInput& input) {
  const int64_t tokens = input.v.size(2), heads = input.v.size(1);
  at::Tensor weights =
      at::full({1, 1, tokens, tokens}, 1.0 / static_cast<double>(tokens), input.v.options());
  if (input.weight_dropout.active()) {
    weights = weights *
              WeightDropoutMask(input.weight_dropout, heads, tokens, tokens).to(input.v.options());
  }
  return at::matmul(weights, input.v);
}

}  // namespace

absl::StatusOr<AttentionPart> AttentionPart::Create(const BlockContext& context) {
  LRA_RETURN_IF_ERROR(CheckSizes(context.model));
  AttentionPart part;
  part.index_ = context.index;
  part.is_causal_ = context.attention.causal();
  part.is_post_norm_ = context.model.norm_placement() == ModelConfig::AFTER;
  part.mask_ = context.model.mask();
  part.has_inner_dropout_ = context.model.inner_dropout();
  LRA_ASSIGN_OR_RETURN(part.attention_, MakeAttention(context));
  part.AddProjections(context);
  return part;
}

void AttentionPart::AddProjections(const BlockContext& context) {
  const ModelConfig& model = context.model;
  const ParameterScope scope(context);
  const Projections kind = attention_->traits().projections;
  const auto projection = [&](const char* name) {
    return scope.Linear(name, model.qkv_width(), model.width(), model.attention_bias());
  };
  norm_ = scope.MakeNorm("attention_norm");
  qkv_.norm = norm_.map();
  if (model.attention_filter_tokens() > 0) filters_ = MakeFilters(context);
  qkv_.heads = kind == Projections::kNone ? 1 : model.heads();
  qkv_.returns_input = attention_->traits().uses_layer_input;
  if (kind == Projections::kNone) return;
  if (model.positions() == ModelConfig::ROTARY)
    rotary_.emplace(context.max_length_tokens, model.qkv_width() / model.heads());
  qkv_.query = projection("attention.query");
  if (kind == Projections::kQueryKeyValue) qkv_.key = projection("attention.key");
  qkv_.value = projection("attention.value");
  output_ =
      scope.Linear("attention.output", model.width(), model.qkv_width(), model.attention_bias());
}

AttentionInput AttentionPart::InputWith(const Qkv& qkv, const BlockInput& input) const {
  AttentionInput result = {qkv.q, qkv.k, qkv.v};
  if (mask_ != ModelConfig::NO_MASK) result.keep = input.real;
  result.weight_dropout =
      input.run.Key(SiteOf(index_, LayerSite::kAttentionWeights), input.run.weight_probability);
  if (has_inner_dropout_) {
    const auto site = [&](LayerSite place) { return SiteOf(index_, place); };
    result.inner_dropout = {
        input.run.Key(site(LayerSite::kBeforeInnerActivation), input.run.probability),
        input.run.HiddenKey(site(LayerSite::kAfterInnerActivation))};
  }
  result.x = qkv.x;
  result.causal = is_causal_;
  result.is_training = input.run.is_training;
  return result;
}

Qkv AttentionPart::Project(const BlockInput& input, at::Tensor* window) const {
  const bool is_fused = !is_post_norm_ && norm_.is_layer_norm() && !filters_.defined();
  if (is_fused) return NormQkv(input.x, qkv_);
  at::Tensor y = is_post_norm_ ? input.x : norm_.Forward(input.x, input.real, input.run.statistics);
  if (window != nullptr) {
    y = FilterPiece(y, FilteredRows(input), filters_, window);
  } else if (filters_.defined()) {
    y = FilterTokens(y, FilteredRows(input), filters_, is_causal_);
  }
  return ProjectQkv(y, qkv_);
}

AttentionInput AttentionPart::Input(const BlockInput& input) const {
  return InputAt(0, Project(input, nullptr), input);
}

AttentionInput AttentionPart::InputAt(int64_t first, Qkv qkv, const BlockInput& input) const {
  if (rotary_) {
    const at::Tensor turns = rotary_->Turns(qkv.q, first);
    const bool is_shared = qkv.k.is_same(qkv.q);
    qkv.q = TurnByPositions(qkv.q, turns);
    qkv.k = is_shared ? qkv.q : TurnByPositions(qkv.k, turns);
  }
  return InputWith(qkv, input);
}

at::Tensor AttentionPart::FilteredRows(const BlockInput& input) const {
  return mask_ == ModelConfig::NO_MASK ? at::Tensor() : input.real;
}

bool AttentionPart::SpreadsPaddedQueries(const BlockInput& input) const {
  return mask_ == ModelConfig::OUTER && input.real.defined() && HasProjections();
}

// A causal mask, and slopes by distance, take the last query for the last token.
bool AttentionPart::CanAskOne(const BlockInput& input) const {
  const Traits& traits = attention_->traits();
  return traits.supports_cross && !is_causal_ && traits.distance_slopes.empty() &&
         !SpreadsPaddedQueries(input);
}

at::Tensor AttentionPart::Attend(const BlockInput& input) const {
  AttentionInput attention_input = Input(input);
  if (input.reads_first_only && CanAskOne(input))
    attention_input.q = attention_input.q.narrow(2, 0, 1);
  at::Tensor attended = AttendWithoutAutocast(*attention_, attention_input);  // [B, H, N, D]
  if (SpreadsPaddedQueries(input))
    attended = at::where(Rows(input.real), attended, EqualWeights(attention_input));
  if (input.visit != nullptr) (*input.visit)("attention", attended);
  return input.reads_first_only ? attended.narrow(2, 0, 1) : attended;
}

at::Tensor AttentionPart::Oracle(const BlockInput& input) const {
  at::Tensor y = is_post_norm_ ? input.x : norm_.Oracle(input.x, input.real, input.run.statistics);
  if (filters_.defined()) y = FilterTokensDefinition(y, FilteredRows(input), filters_, is_causal_);
  const auto split = [&](const LinearMap& map) {
    const at::Tensor mapped = map.weight.defined() ? LinearDefinition(y, map) : y;
    return mapped.unflatten(2, {qkv_.heads, -1}).transpose(1, 2);
  };
  Qkv qkv = {split(qkv_.query), at::Tensor(), split(qkv_.value)};
  qkv.k = qkv_.key.weight.defined() ? split(qkv_.key) : qkv.q;
  if (qkv_.returns_input) qkv.x = y;
  if (rotary_) {
    qkv.q = RotaryDefinition(qkv.q, 0);
    qkv.k = RotaryDefinition(qkv.k, 0);
  }
  const AttentionInput attention_input = InputWith(qkv, input);
  at::Tensor attended = attention_->Oracle(attention_input);
  if (SpreadsPaddedQueries(input))
    attended = at::where(Rows(input.real), attended, EqualWeightsDefinition(attention_input));
  const at::Tensor joined = attended.transpose(1, 2).flatten(2);
  return output_.weight.defined() ? LinearDefinition(joined, output_) : joined;
}

BlockState AttentionPart::InitState(int64_t batch, const at::TensorOptions& options) const {
  BlockState state;
  state.attentions = {attention_->InitState(batch, options)};
  if (filters_.defined()) state.tensors = {EmptyWindow(filters_, batch, options)};
  return state;
}

at::Tensor AttentionPart::Extend(const BlockInput& piece, BlockState* state) const {
  const c10::NoGradGuard no_gradient;
  at::Tensor* const window = filters_.defined() ? &state->tensors[0] : nullptr;
  AttentionState* const inner = &state->attentions[0];
  const AttentionInput input = InputAt(inner->tokens, Project(piece, window), piece);
  return ExtendWithoutAutocast(*attention_, input, inner);
}

int64_t AttentionPart::ParameterCount() const {
  const int64_t width = norm_.map().weight.size(0);
  const int64_t of_filter = filters_.defined() ? filters_.size(0) * width : 0;
  const int64_t of_norm = 2 * width + of_filter;
  if (!HasProjections()) return of_norm;
  const int64_t qkv_width = qkv_.query.weight.size(0);
  const int64_t inward = qkv_.key.weight.defined() ? 3 : 2;
  const int64_t biases = qkv_.query.bias.defined() ? inward * qkv_width + width : 0;
  return of_norm + (inward + 1) * width * qkv_width + biases;
}

int64_t AttentionPart::ActivationsOfToken() const {
  const int64_t width = norm_.map().weight.size(0) * (filters_.defined() ? 2 : 1);
  if (!HasProjections()) return width;
  const int64_t qkv_width = qkv_.query.weight.size(0);
  return width + (qkv_.key.weight.defined() ? 3 : 2) * qkv_width;
}

BlockTraits AttentionPart::TraitsOfBlock() const {
  const Traits& of_attention = attention_->traits();
  BlockTraits traits;
  traits.uses_attention = true;
  if (filters_.defined() && filters_.size(0) > 1)
    traits.taps_field = "model.attention_filter_tokens";
  // What attention.causal does not ask for, filters do not keep to.
  const bool filters_look_ahead = !traits.taps_field.empty() && !is_causal_;
  traits.is_causal =
      is_causal_ || (of_attention.causality == Causality::kAlways && !filters_look_ahead);
  if (of_attention.causality == Causality::kNever)
    traits.causal_reason = NoCausalForm(of_attention);
  traits.supports_streaming = traits.is_causal && of_attention.supports_streaming;
  traits.is_padding_invariant = mask_ != ModelConfig::NO_MASK && of_attention.is_padding_invariant;
  traits.padding_reason = mask_ == ModelConfig::NO_MASK ? "under model.mask=NO_MASK padding is seen"
                                                        : of_attention.padding_reason;
  return traits;
}

}  // namespace lra
