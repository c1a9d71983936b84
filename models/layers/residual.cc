#include "models/layers/residual.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "models/layers/definitions.h"
#include "models/layers/parameter_scope.h"

namespace lra {

Residual::Residual(const BlockContext& context, absl::string_view norm, LayerSite place)
    : index_(context.index),
      place_(place),
      is_causal_(context.attention.causal()),
      is_post_norm_(context.model.norm_placement() == ModelConfig::AFTER),
      is_masked_(context.model.mask() != ModelConfig::NO_MASK),
      norm_(ParameterScope(context).MakeNorm(norm)) {}

DropoutKey Residual::Key(const DropoutRun& run) const {
  return run.HiddenKey(SiteOf(index_, place_));
}

at::Tensor Residual::Keep(const BlockInput& input) const {
  return is_masked_ ? input.real : at::Tensor();
}

at::Tensor Residual::Enter(const BlockInput& input) const {
  const at::Tensor y =
      is_post_norm_ ? input.x : norm_.Forward(input.x, input.real, input.run.statistics);
  const at::Tensor keep = Keep(input);
  return keep.defined() ? at::where(keep.unsqueeze(2), y, at::zeros({}, y.options())) : y;
}

at::Tensor Residual::Leave(const at::Tensor& f, const BlockInput& input) const {
  const at::Tensor sum = DropoutAdd(f, input.x, Key(input.run));
  return is_post_norm_ ? norm_.Forward(sum, input.real, input.run.statistics) : sum;
}

at::Tensor Residual::EnterOracle(const BlockInput& input) const {
  const at::Tensor y =
      is_post_norm_ ? input.x : norm_.Oracle(input.x, input.real, input.run.statistics);
  const at::Tensor keep = Keep(input);
  return keep.defined() ? y.masked_fill(keep.logical_not().unsqueeze(2), 0) : y;
}

at::Tensor Residual::LeaveOracle(const at::Tensor& f, const BlockInput& input) const {
  const at::Tensor sum = input.x + DropoutDefinition(f, Key(input.run));
  return is_post_norm_ ? norm_.Oracle(sum, input.real, input.run.statistics) : sum;
}

BlockTraits Residual::TraitsOfBlock() const {
  BlockTraits traits;
  traits.is_causal = is_causal_;
  traits.is_padding_invariant = is_masked_;
  if (!is_masked_) traits.padding_reason = "under model.mask=NO_MASK padding is seen";
  return traits;
}

int64_t Residual::ParameterCount() const { return 2 * norm_.map().weight.size(0); }

absl::Status RefuseAttention(absl::string_view block, const BlockContext& context) {
  const AttentionConfig& attention = context.attention;
  if (attention.name() != kNoAttention) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.name: is \"", attention.name(), "\", but block \"", block,
                     "\" uses no attention; choose \"", kNoAttention, "\""));
  }
  if (context.model.inner_dropout()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.inner_dropout: is true, but block \"", block,
                     "\" uses no attention; set model.inner_dropout=false"));
  }
  const ModelConfig::Positions positions = context.model.positions();
  if (positions == ModelConfig::ROTARY || positions == ModelConfig::ALIBI) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.positions: is ", ModelConfig::Positions_Name(positions), ", but block \"", block,
        "\" uses no attention that could have them; set model.positions=SINUSOID"));
  }
  if (context.model.attention_filter_tokens() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.attention_filter_tokens: is ", context.model.attention_filter_tokens(),
                     ", but block \"", block, "\" uses no attention; set it to 0"));
  }
  if (attention.dropout() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("attention.dropout: is ", attention.dropout(),
                                                 ", but block \"", block,
                                                 "\" uses no attention; set attention.dropout=0"));
}

}  // namespace lra
