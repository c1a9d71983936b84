// mixer: an attention with norm, dropout and residual around it, and no MLP.
// Source: the layer of S4's and S4D's published models (Gu et al. 2022, "Efficiently Modeling Long
// Sequences with Structured State Spaces", appendix D.2; example.py of state-spaces/s4), whose
// mixer brings its own gated output: attention.name=s4d.
//   BEFORE: y = x + drop(mixer(norm(x)))
//   AFTER:  y = norm(x + drop(mixer(x)))
// mixer() is the attention with its projections, or, of methods without any, the method itself.
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/interface/block.h"
#include "models/layers/attention_part.h"
#include "models/layers/definitions.h"
#include "models/layers/dropout_sites.h"

namespace lra {
namespace {

class Mixer : public Block {
 public:
  Mixer(const BlockContext& context, AttentionPart part)
      : index_(context.index), part_(std::move(part)), traits_(part_.TraitsOfBlock()) {
    traits_.label = "Mixer";
    traits_.summary = "the attention alone, with norm, dropout and residual: S4D's layer";
    traits_.source = "Gu et al. 2022 (S4), appendix D.2";
    const Traits& inside = part_.attention().traits();
    traits_.time_order = absl::StrCat(inside.time_order, " + N E^2");
    traits_.memory_order = absl::StrCat(inside.memory_order, " + N E");
  }

  const BlockTraits& traits() const override { return traits_; }

  at::Tensor Forward(const BlockInput& input) const override {
    return Finish(part_.Attend(input), input);
  }

  at::Tensor Oracle(const BlockInput& input) const override {
    const at::Tensor sum = input.x + DropoutDefinition(part_.Oracle(input), Key(input.run));
    return part_.is_post_norm() ? part_.norm().Oracle(sum, input.real, input.run.statistics) : sum;
  }

  int64_t ParameterCount() const override { return part_.ParameterCount(); }

  int64_t ActivationBytes(int64_t batch, int64_t tokens) const override {
    const int64_t width = part_.norm().map().weight.size(0);
    const LinearMap& output = part_.output();
    // The attention's output where it is projected, and the block's.
    const int64_t floats =
        part_.ActivationsOfToken() + width + (output.weight.defined() ? output.weight.size(1) : 0);
    return static_cast<int64_t>(sizeof(float)) * batch * tokens * floats;
  }

  BlockState InitState(int64_t batch, const at::TensorOptions& options) const override {
    BlockState state;
    state.attentions = {part_.InitState(batch, options)};
    return state;
  }

  at::Tensor Extend(const BlockInput& piece, BlockState* state) const override {
    const c10::NoGradGuard no_gradient;
    state->tokens += piece.x.size(1);
    return Finish(part_.Extend(piece, &state->attentions[0]), piece);
  }

  const Attention* attention() const override { return &part_.attention(); }
  AttentionInput InputOfAttention(const BlockInput& input) const override {
    return part_.Input(input);
  }

 private:
  DropoutKey Key(const DropoutRun& run) const {
    return run.Key(SiteOf(index_, LayerSite::kAttentionOutput), run.probability);
  }

  // From the attention's output [B, H, N, D] on.
  at::Tensor Finish(const at::Tensor& attended, const BlockInput& input) const {
    const at::Tensor sum =
        DropoutAdd(ProjectOutput(attended, part_.output()), input.x, Key(input.run));
    return part_.is_post_norm() ? part_.norm().Forward(sum, input.real, input.run.statistics) : sum;
  }

  const int64_t index_;
  const AttentionPart part_;
  BlockTraits traits_;
};

absl::StatusOr<std::unique_ptr<Block>> MakeMixer(const BlockContext& context) {
  LRA_ASSIGN_OR_RETURN(AttentionPart part, AttentionPart::Create(context));
  return std::make_unique<Mixer>(context, std::move(part));
}

LRA_REGISTER(BlockRegistry, "mixer", MakeMixer);

}  // namespace
}  // namespace lra
