// no_mixing: each token keeps its own value, o_i = v_i: softmax attention to oneself alone.
// Source: NoneAttention of mlpen/Nystromformer at 5689313, in its file LRA/code/attention.py.
// The control of what an attention brings: stem, filters, positions, layers and pooling are there,
// and queries and keys with their parameters, but nothing reads these.
#include <ATen/core/Tensor.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include "models/attention/no_mixing.pb.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/pattern_oracle.h"
#include "models/kernels/select_kept.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "No mixing";
  traits.summary = "each token keeps its own value: the control of what an attention brings";
  traits.source = "mlpen/Nystromformer, LRA/code/attention.py (NoneAttention)";
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = false;
  traits.rotary_reason = "nothing reads its queries and keys";
  traits.causality = Causality::kAlways;
  traits.causal_reason = "a token sees itself alone, whatever comes before it or after";
  traits.supports_streaming = true;
  traits.time_order = "N D";
  traits.memory_order = "N D";
  return traits;
}

class NoMixing : public Attention {
 public:
  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    // Queries and keys get a gradient, of 0, since what is trained must have one.
    const at::Tensor always = at::ones({}, input.v.options().dtype(at::kBool));
    const at::Tensor v = at::where(always, at::where(always, input.v, input.k), input.q);
    return SelectKept(v, input.keep, KeptLayout::kAsGiven);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor itself = at::eye(input.v.size(2), input.v.options()).to(at::kBool);
    return DensePatternAttention(input.q, input.k, input.v, input.keep, itself,
                                 input.weight_dropout);
  }

  AttentionState InitState(int64_t, const at::TensorOptions&) const override { return {}; }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    state->tokens += piece.v.size(2);
    return Attend(piece);
  }

 private:
  const Traits traits_ = MakeTraits();
};

absl::StatusOr<std::unique_ptr<Attention>> MakeNoMixing(const NoMixingOptions&,
                                                        const AttentionContext&) {
  return std::make_unique<NoMixing>();
}

LRA_REGISTER_ATTENTION("no_mixing", NoMixingOptions, MakeNoMixing);

}  // namespace
}  // namespace lra
