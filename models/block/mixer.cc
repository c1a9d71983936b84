// mixer: an attention with norm, dropout and residual around it, and no MLP.
// Source: the layer of S4's and S4D's published models (Gu et al. 2022, "Efficiently Modeling Long
// Sequences with Structured State Spaces", appendix D.2; example.py of state-spaces/s4), whose
// mixer brings its own gated output: attention.name=s4d.
//   BEFORE: y = x + drop(mixer(norm(x)))
//   AFTER:  y = norm(x + drop(mixer(x)))
// mixer() is the attention with its projections, or, of methods without any, the method itself.
#include <ATen/TensorOperators.h>

#include <utility>

#include "lra/status_macros.h"
#include "models/interface/block.h"
#include "models/layers/attention_block.h"
#include "models/layers/definitions.h"

namespace lra {
namespace {

BlockTraits MakeTraits() {
  BlockTraits traits;
  traits.label = "Mixer";
  traits.summary = "the attention alone, with norm, dropout and residual: S4D's layer";
  traits.source = "Gu et al. 2022 (S4), appendix D.2";
  traits.time_order = "N E^2";
  traits.memory_order = "N E";
  return traits;
}

class Mixer : public AttentionBlock {
 public:
  Mixer(const BlockContext& context, AttentionPart attention_part)
      : AttentionBlock(context, std::move(attention_part), MakeTraits()) {}

  at::Tensor Oracle(const BlockInput& input) const override {
    const at::Tensor sum = input.x + DropoutDefinition(part().Oracle(input),
                                                       Key(LayerSite::kAttentionOutput, input.run));
    return part().is_post_norm() ? part().norm().Oracle(sum, input.real, input.run.statistics)
                                 : sum;
  }

  int64_t ParameterCount() const override { return part().ParameterCount(); }

  int64_t ActivationBytes(int64_t batch, int64_t tokens) const override {
    const int64_t width = part().norm().map().weight.size(0);
    const LinearMap& output = part().output();
    // The attention's output where it is projected, and the block's.
    const int64_t floats =
        part().ActivationsOfToken() + width + (output.weight.defined() ? output.weight.size(1) : 0);
    return static_cast<int64_t>(sizeof(float)) * batch * tokens * floats;
  }

 private:
  at::Tensor Finish(const at::Tensor& attended, const BlockInput& input) const override {
    const at::Tensor sum = DropoutAdd(ProjectOutput(attended, part().output()), input.x,
                                      Key(LayerSite::kAttentionOutput, input.run));
    return part().is_post_norm() ? part().norm().Forward(sum, input.real, input.run.statistics)
                                 : sum;
  }
};

absl::StatusOr<std::unique_ptr<Block>> MakeMixer(const BlockContext& context) {
  LRA_ASSIGN_OR_RETURN(AttentionPart part, AttentionPart::Create(context));
  return std::make_unique<Mixer>(context, std::move(part));
}

LRA_REGISTER(BlockRegistry, "mixer", MakeMixer);

}  // namespace
}  // namespace lra
