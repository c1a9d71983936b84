// average: every token gets the average of the tokens, through two maps.
// Source: Zhang et al. 2018 ("Accelerating Neural Transformer via an Average Attention Network"),
// eqs. 1 and 2, without the gate of eq. 3.
//   m_i = mean of norm(x)_j over the real tokens j (j <= i with attention.causal)
//   y_i = x_i + drop(relu(m_i W1 + b1) W2 + b2)
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "examples/average_block/average.pb.h"
#include "lra/plugin_options.h"
#include "lra/status_macros.h"
#include "models/interface/block.h"
#include "models/layers/definitions.h"
#include "models/layers/parameter_scope.h"
#include "models/layers/residual.h"

namespace lra {
namespace {

class Average : public Block {
 public:
  Average(const BlockContext& context, int64_t hidden_width) : residual_(context) {
    const ParameterScope scope(context);
    const int64_t width = context.model.width();
    hidden_ = scope.Linear("hidden", hidden_width, width, true);
    output_ = scope.Linear("output", width, hidden_width, true);
    traits_ = residual_.TraitsOfBlock();
    traits_.label = "Average";
    traits_.summary = "the average of the tokens, through two maps";
    traits_.source = "Zhang et al. 2018, eqs. 1 and 2";
    traits_.supports_streaming = traits_.is_causal;
    traits_.time_order = "N E M";
    traits_.memory_order = "N (E + M)";
  }

  const BlockTraits& traits() const override { return traits_; }

  // The definition, with the matrix of weights: 1 / count where a token is seen, else 0.
  at::Tensor Oracle(const BlockInput& input) const override {
    const at::Tensor x = residual_.EnterOracle(input);
    const int64_t tokens = x.size(1);
    at::Tensor seen = at::ones({1, tokens, tokens}, at::kBool);
    if (traits_.is_causal) seen = seen.tril();
    if (const at::Tensor keep = residual_.Keep(input); keep.defined())
      seen = seen.logical_and(keep.unsqueeze(1));
    const at::Tensor weights = seen.to(x.options()) / seen.sum(2, true).clamp_min(1);
    const at::Tensor hidden = LinearDefinition(at::matmul(weights, x), hidden_);
    const at::Tensor active = hidden * (hidden > 0);
    return residual_.LeaveOracle(LinearDefinition(active, output_), input);
  }

  // Sums instead of a matrix: linear in N.
  at::Tensor Forward(const BlockInput& input) const override {
    const Sums sums = Add(input);
    if (traits_.is_causal) return Finish({sums.x.cumsum(1), sums.count.cumsum(1)}, input);
    return Finish({sums.x.sum(1, true), sums.count.sum(1, true)}, input);
  }

  int64_t ParameterCount() const override {
    const int64_t width = output_.weight.size(0), hidden = output_.weight.size(1);
    return residual_.ParameterCount() + 2 * width * hidden + width + hidden;
  }

  int64_t ActivationBytes(int64_t batch, int64_t tokens) const override {
    const int64_t width = output_.weight.size(0), hidden = output_.weight.size(1);
    // The block's output always; the average and what follows once a token, or once a sequence.
    const int64_t averages = traits_.is_causal ? tokens : 1;
    const int64_t floats = tokens * width + averages * (width + 2 * hidden);
    return static_cast<int64_t>(sizeof(float)) * batch * floats;
  }

  // tensors = {sum of the tokens so far [B, 1, E], how many they are [B, 1, 1]}.
  BlockState InitState(int64_t batch, const at::TensorOptions& options) const override {
    BlockState state;
    state.tensors = {at::zeros({batch, 1, output_.weight.size(0)}, options),
                     at::zeros({batch, 1, 1}, options)};
    return state;
  }

  at::Tensor Extend(const BlockInput& piece, BlockState* state) const override {
    const c10::NoGradGuard no_gradient;
    Sums sums = Add(piece);
    sums = {state->tensors[0] + sums.x.cumsum(1), state->tensors[1] + sums.count.cumsum(1)};
    state->tensors = {sums.x.slice(1, -1).clone(), sums.count.slice(1, -1).clone()};
    state->tokens += piece.x.size(1);
    return Finish(sums, piece);
  }

 private:
  struct Sums {
    at::Tensor x;      // [B, N, E]
    at::Tensor count;  // [B, N, 1]
  };

  // What each token adds. Padded tokens are 0 already, and count as none.
  Sums Add(const BlockInput& input) const {
    const at::Tensor x = residual_.Enter(input), keep = residual_.Keep(input);
    return {x, keep.defined() ? keep.unsqueeze(2).to(x.options())
                              : at::ones({x.size(0), x.size(1), 1}, x.options())};
  }

  at::Tensor Finish(const Sums& sums, const BlockInput& input) const {
    const at::Tensor average = sums.x / sums.count.clamp_min(1);
    const at::Tensor f = ApplyLinear(at::relu(ApplyLinear(average, hidden_)), output_);
    return residual_.Leave(f.expand_as(input.x), input);
  }

  const Residual residual_;
  LinearMap hidden_, output_;
  BlockTraits traits_;
};

absl::StatusOr<std::unique_ptr<Block>> MakeAverage(const BlockContext& context) {
  LRA_ASSIGN_OR_RETURN(const auto options,
                       UnpackOptions<AverageOptions>("block", "average", context.options));
  LRA_RETURN_IF_ERROR(RefuseAttention("average", context));
  return std::make_unique<Average>(context, options.hidden_width());
}

LRA_REGISTER(BlockRegistry, "average", MakeAverage);

}  // namespace
}  // namespace lra
