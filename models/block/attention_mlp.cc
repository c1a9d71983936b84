// attention_mlp: the encoder layer of the Transformer around any registered attention.
// Source: Vaswani et al. 2017 ("Attention Is All You Need"), section 3.1; norms before the halves
// as in Xiong et al. 2020 ("On Layer Normalization in the Transformer Architecture").
//   BEFORE: h = x + drop(attention(norm(x)) Wo + bo),  y = h + drop(mlp(norm(h)))
//   AFTER:  h = norm(x + drop(attention(x) Wo + bo)),  y = norm(h + drop(mlp(h)))
//   mlp(z) = drop(f(z W1 + b1)) W2 + b2, f = model.activation
// Layer norms before the halves run in the fused pieces (models/layers/layer_pieces.h); batch norms
// and norms behind the halves in a composition whose maps and MLP are fused by themselves.
#include <ATen/TensorOperators.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/interface/block.h"
#include "models/layers/activation.h"
#include "models/layers/attention_block.h"
#include "models/layers/definitions.h"
#include "models/layers/parameter_scope.h"

namespace lra {
namespace {

BlockTraits MakeTraits() {
  BlockTraits traits;
  traits.label = "Attention and MLP";
  traits.summary = "the Transformer's layer: attention, then an MLP, each with norm and residual";
  traits.source = "Vaswani et al. 2017, section 3.1";
  traits.time_order = "N E (E + M)";
  traits.memory_order = "N (E + M)";
  return traits;
}

class AttentionMlp : public AttentionBlock {
 public:
  AttentionMlp(const BlockContext& context, AttentionPart attention_part)
      : AttentionBlock(context, std::move(attention_part), MakeTraits()) {
    const ModelConfig& model = context.model;
    const ParameterScope scope(context);
    norm_ = scope.MakeNorm("mlp_norm");
    mlp_.output = part().output();
    mlp_.norm = norm_.map();
    mlp_.hidden = scope.Linear("mlp.hidden", model.mlp_width(), model.width(), true);
    mlp_.projection = scope.Linear("mlp.projection", model.width(), model.mlp_width(), true);
    mlp_.activation = ActivationOf(model);
  }

  at::Tensor Oracle(const BlockInput& input) const override {
    const OutputMlpDropout keys = Keys(input.run);
    const auto norm = [&](const Norm& norm, const at::Tensor& x) {
      return norm.Oracle(x, input.real, input.run.statistics);
    };
    const auto mlp = [&](const at::Tensor& x) {
      const at::Tensor active =
          ActivationDefinition(LinearDefinition(x, mlp_.hidden), mlp_.activation);
      return DropoutDefinition(
          LinearDefinition(DropoutDefinition(active, keys.hidden), mlp_.projection),
          keys.mlp_output);
    };
    const at::Tensor sum = input.x + DropoutDefinition(part().Oracle(input), keys.attention_output);
    if (!part().is_post_norm()) return sum + mlp(norm(norm_, sum));
    const at::Tensor h = norm(part().norm(), sum);
    return norm(norm_, h + mlp(h));
  }

  int64_t ParameterCount() const override {
    const int64_t width = mlp_.hidden.weight.size(1), hidden = mlp_.hidden.weight.size(0);
    return part().ParameterCount() + 2 * width + 2 * width * hidden + width + hidden;
  }

  int64_t ActivationBytes(int64_t batch, int64_t tokens) const override {
    const int64_t width = mlp_.hidden.weight.size(1), hidden = mlp_.hidden.weight.size(0);
    const int64_t attended = mlp_.output.weight.defined() ? mlp_.output.weight.size(1) : width;
    // The attention's output, the sum before the MLP, what enters the GELU, the block's output.
    const int64_t floats = part().ActivationsOfToken() + attended + 2 * width + hidden;
    return static_cast<int64_t>(sizeof(float)) * batch * tokens * floats;
  }

 private:
  OutputMlpDropout Keys(const DropoutRun& run) const {
    return {Key(LayerSite::kAttentionOutput, run), Key(LayerSite::kMlpHidden, run),
            Key(LayerSite::kMlpOutput, run)};
  }

  at::Tensor Finish(const at::Tensor& attended, const BlockInput& input) const override {
    const OutputMlpDropout keys = Keys(input.run);
    const bool is_fused = !part().is_post_norm() && norm_.is_layer_norm();
    return is_fused ? OutputMlp(attended, input.x, mlp_, keys)
                    : FinishInParts(attended, input, keys);  // [B, N, E]
  }

  at::Tensor FinishInParts(const at::Tensor& attended, const BlockInput& input,
                           const OutputMlpDropout& keys) const {
    const BatchStatistics statistics = input.run.statistics;
    const at::Tensor h =
        DropoutAdd(ProjectOutput(attended, mlp_.output), input.x, keys.attention_output);
    if (!part().is_post_norm()) {
      const at::Tensor y = norm_.Forward(h, input.real, statistics);
      return DropoutAdd(Mlp(y, mlp_, keys.hidden), h, keys.mlp_output);
    }
    const at::Tensor y = part().norm().Forward(h, input.real, statistics);
    return norm_.Forward(DropoutAdd(Mlp(y, mlp_, keys.hidden), y, keys.mlp_output), input.real,
                         statistics);
  }

  Norm norm_;
  OutputMlpParameters mlp_;
};

absl::StatusOr<std::unique_ptr<Block>> MakeAttentionMlp(const BlockContext& context) {
  if (context.model.mlp_width() < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.mlp_width: is ", context.model.mlp_width(), ", must be set and at least 1"));
  }
  LRA_ASSIGN_OR_RETURN(AttentionPart part, AttentionPart::Create(context));
  return std::make_unique<AttentionMlp>(context, std::move(part));
}

LRA_REGISTER(BlockRegistry, "attention_mlp", MakeAttentionMlp);

}  // namespace
}  // namespace lra
