// gated_attention: the gated attention unit, one head of quadratic attention inside a gated MLP.
// Source: Hua et al. 2022 ("Transformer Quality in Linear Time"), section 2.2 and the programs of
// its appendix (scaling, relative bias, initial values).
//   x' = norm(x),  u = silu(x' Wu + bu),  v = silu(x' Wv + bv) [N, e],  z = silu(x' Wz + bz) [N, s]
//   q = z * gq + oq,  k = z * gk + ok             (* of channels)
//   a_ij = relu(q_i . k_j / n_i + r(i - j))^2
//   y_i = x_i + drop((u_i * sum_j a_ij v_j) Wo + bo)
//   r(d) = rope(l, i) . rope(m, j), d = i - j: a bias of the distance, of two learned vectors [s]
// n_i is the number of real tokens that i sees: the paper's n, the length of its sequences, which
// have no padding; with attention.causal those up to i, so that no output depends on what follows.
// norm_placement AFTER: x' = x and y = norm(the same). model.mask=OUTER is KEYS here.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/block/gated_attention.pb.h"
#include "models/interface/block.h"
#include "models/layers/definitions.h"
#include "models/layers/parameter_scope.h"
#include "models/layers/residual.h"

namespace lra {
namespace {

constexpr double kSmall = 0.02;      // the appendix's deviation of scales and bias vectors
constexpr double kRopeBase = 10000;  // angles from 1 down to almost 1 / 10,000 a token

BlockTraits MakeTraits(const Residual& residual) {
  BlockTraits traits = residual.TraitsOfBlock();
  traits.label = "Gated attention unit";
  traits.summary = "one head of squared-ReLU attention inside a gated MLP";
  traits.source = "Hua et al. 2022 (FLASH), section 2.2";
  traits.supports_streaming = traits.is_causal;
  traits.time_order = "N^2 E + N E^2";
  traits.memory_order = "N^2 + N E";
  return traits;
}

struct GatedParameters {
  LinearMap gate, value, base, output;                          // u, v, z and the output
  at::Tensor query_scale, query_offset, key_scale, key_offset;  // [s]
  at::Tensor bias_left, bias_right;                             // l, m: [s]
};

// Angles a token of the s / 2 pairs of channels: [s / 2] float64.
at::Tensor Angles(const at::Tensor& vector) {
  const int64_t pairs = vector.size(0) / 2;
  const at::TensorOptions options = vector.options().dtype(at::kDouble);
  return at::pow(kRopeBase, -at::arange(pairs, options) / static_cast<double>(pairs));
}

// The vector [s] turned by the angles of positions first .. first + count - 1: [count, s].
at::Tensor Rope(const at::Tensor& vector, int64_t first, int64_t count,
                const at::TensorOptions& options) {
  const at::Tensor angles = Angles(vector);
  const at::Tensor turns = at::outer(at::arange(first, first + count, angles.options()), angles);
  const at::Tensor cosine = turns.cos().to(options), sine = turns.sin().to(options);
  const std::vector<at::Tensor> halves = vector.to(options).chunk(2);
  return at::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, 1);
}

// Which keys a query sees: [B or 1, T, N] bool, for T queries of which the first is token `first`.
at::Tensor Seen(const at::Tensor& keep, int64_t first, int64_t queries, int64_t keys,
                bool is_causal, at::Device device) {
  at::Tensor seen = at::ones({1, queries, keys}, at::TensorOptions(at::kBool).device(device));
  if (is_causal) seen = seen.tril(first);
  return keep.defined() ? seen.logical_and(keep.unsqueeze(1)) : seen;
}

// How many keys each query sees, at least 1: [B or 1, T, 1].
at::Tensor Counts(const at::Tensor& seen, const at::TensorOptions& options) {
  return seen.sum(-1, /*keepdim=*/true).clamp_min(1).to(options);
}

class GatedAttention : public Block {
 public:
  GatedAttention(Residual residual, GatedParameters parameters)
      : residual_(std::move(residual)), traits_(MakeTraits(residual_)), p_(std::move(parameters)) {}

  const BlockTraits& traits() const override { return traits_; }

  at::Tensor Forward(const BlockInput& input) const override {
    const Projected t = Project(input);
    return Finish(t, Mix(t.q, t.k, t.v, residual_.Keep(input), 0), input);
  }

  at::Tensor Oracle(const BlockInput& input) const override;

  int64_t ParameterCount() const override {
    const int64_t width = p_.output.weight.size(0), e = p_.output.weight.size(1);
    const int64_t s = p_.base.weight.size(0);
    const int64_t maps = 2 * (width + 1) * e + (width + 1) * s + (e + 1) * width;
    return residual_.ParameterCount() + maps + 6 * s;
  }

  int64_t ActivationBytes(int64_t batch, int64_t tokens) const override {
    const int64_t width = p_.output.weight.size(0), e = p_.output.weight.size(1);
    const int64_t s = p_.base.weight.size(0);
    // For each token: x', the block's output; u, v and z before and behind their SiLU, the mixed
    // values and the gated ones; q and k. For each pair of tokens: the score, its ReLU, the weight.
    const int64_t floats = 2 * width + 6 * e + 4 * s + 3 * tokens;
    return static_cast<int64_t>(sizeof(float)) * batch * tokens * floats;
  }

  // tensors = {keys [B, T, s], values [B, T, e], which of them are real [B, T]} of the T tokens so
  // far.
  BlockState InitState(int64_t batch, const at::TensorOptions& options) const override {
    BlockState state;
    state.tensors = {at::empty({batch, 0, p_.base.weight.size(0)}, options),
                     at::empty({batch, 0, p_.value.weight.size(0)}, options),
                     at::empty({batch, 0}, options.dtype(at::kBool))};
    return state;
  }

  at::Tensor Extend(const BlockInput& piece, BlockState* state) const override {
    const c10::NoGradGuard no_gradient;
    const Projected t = Project(piece);
    at::Tensor keep = residual_.Keep(piece);
    if (!keep.defined()) keep = at::ones({t.q.size(0), t.q.size(1)}, state->tensors[2].options());
    state->tensors = {at::cat({state->tensors[0], t.k}, 1), at::cat({state->tensors[1], t.v}, 1),
                      at::cat({state->tensors[2], keep}, 1)};
    const int64_t before = std::exchange(state->tokens, state->tokens + t.q.size(1));
    const std::vector<at::Tensor>& all = state->tensors;
    return Finish(t, Mix(t.q, all[0], all[1], all[2], before), piece);
  }

 private:
  struct Projected {
    at::Tensor u, v;  // [B, N, e]
    at::Tensor q, k;  // [B, N, s]
  };

  Projected Project(const BlockInput& input) const {
    const at::Tensor y = residual_.Enter(input);
    const at::Tensor z = at::silu(ApplyLinear(y, p_.base));
    return {at::silu(ApplyLinear(y, p_.gate)), at::silu(ApplyLinear(y, p_.value)),
            at::addcmul(p_.query_offset, z, p_.query_scale),
            at::addcmul(p_.key_offset, z, p_.key_scale)};
  }

  // r(i - j) of a block of queries and keys: [queries, keys].
  at::Tensor Bias(int64_t first_query, int64_t queries, int64_t first_key, int64_t keys,
                  const at::TensorOptions& options) const {
    return at::matmul(Rope(p_.bias_left, first_query, queries, options),
                      Rope(p_.bias_right, first_key, keys, options).t());
  }

  // sum_j a_ij v_j [B, T, e] of T queries, the first of which is token `first`, over N keys.
  at::Tensor Mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& keep, int64_t first) const {
    const AutocastScope full_precision(false, q.device().type());
    const at::Tensor seen = Seen(keep, first, q.size(1), k.size(1), traits_.is_causal, q.device());
    const at::Tensor bias = Bias(first, q.size(1), 0, k.size(1), q.options());
    const at::Tensor scores = at::matmul(q, k.transpose(1, 2)) / Counts(seen, q.options()) + bias;
    const at::Tensor weights = at::relu(scores).square();
    return at::matmul(at::where(seen, weights, at::zeros({}, weights.options())), v);
  }

  at::Tensor Finish(const Projected& t, const at::Tensor& mixed, const BlockInput& input) const {
    return residual_.Leave(ApplyLinear(t.u * mixed, p_.output), input);
  }

  const Residual residual_;
  const BlockTraits traits_;
  const GatedParameters p_;
};

// Written from the equations above; r(d) as a sum over pairs (l1, l2), (m1, m2) of channels:
//   (l1 m1 + l2 m2) cos(angle d) - (l2 m1 - l1 m2) sin(angle d)
at::Tensor GatedAttention::Oracle(const BlockInput& input) const {
  const auto silu_of = [](const at::Tensor& x) { return x / (1 + at::exp(-x)); };
  const auto in_type = [&](const at::Tensor& t) { return t.to(input.x.options()); };
  const at::Tensor x = residual_.EnterOracle(input);
  const int64_t tokens = x.size(1);
  at::Tensor sees = at::ones({1, tokens, tokens}, at::kBool);
  if (traits_.is_causal) sees = sees.tril();
  if (const at::Tensor keep = residual_.Keep(input); keep.defined())
    sees = sees.logical_and(keep.unsqueeze(1));
  const at::Tensor z = silu_of(LinearDefinition(x, p_.base));
  const at::Tensor q = z * in_type(p_.query_scale) + in_type(p_.query_offset);
  const at::Tensor k = z * in_type(p_.key_scale) + in_type(p_.key_offset);
  const std::vector<at::Tensor> l = in_type(p_.bias_left).chunk(2);
  const std::vector<at::Tensor> m = in_type(p_.bias_right).chunk(2);
  const at::Tensor positions = at::arange(tokens, at::kDouble);
  const at::Tensor distances = positions.unsqueeze(1) - positions;  // [N, N]
  const at::Tensor pair = at::arange(l[0].size(0), at::kDouble) / static_cast<double>(l[0].size(0));
  const at::Tensor turns = distances.unsqueeze(2) / at::exp(std::log(kRopeBase) * pair);
  const at::Tensor bias = ((l[0] * m[0] + l[1] * m[1]) * in_type(turns.cos()) -
                           (l[1] * m[0] - l[0] * m[1]) * in_type(turns.sin()))
                              .sum(2);
  const at::Tensor counts = in_type(sees.sum(2, true)).clamp_min(1);
  const at::Tensor scores = at::einsum("bis,bjs->bij", {q, k}) / counts + bias;
  const at::Tensor weights = (scores * (scores > 0)).pow(2) * sees;
  const at::Tensor mixed = at::matmul(weights, silu_of(LinearDefinition(x, p_.value)));
  const at::Tensor gated = silu_of(LinearDefinition(x, p_.gate)) * mixed;
  return residual_.LeaveOracle(LinearDefinition(gated, p_.output), input);
}

absl::StatusOr<std::unique_ptr<Block>> MakeGatedAttention(const BlockContext& context) {
  LRA_ASSIGN_OR_RETURN(const auto options, UnpackOptions<GatedAttentionOptions>(
                                               "block", "gated_attention", context.options));
  LRA_RETURN_IF_ERROR(RefuseAttention("gated_attention", context));
  if (options.key_width() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block.options.key_width: is ", options.key_width(), ", must be even"));
  }
  const int64_t width = context.model.width(), e = options.expansion_factor() * width;
  const int64_t s = options.key_width();
  const ParameterScope scope(context);
  const auto vector = [&](const char* name, Initializer initializer) {
    return scope.Make(name, {s}, initializer);
  };
  Residual residual(context);
  GatedParameters p;
  p.gate = scope.Linear("gate", e, width, true);
  p.value = scope.Linear("value", e, width, true);
  p.base = scope.Linear("base", s, width, true);
  p.query_scale = vector("query.scale", Initializer::Normal(kSmall));
  p.query_offset = vector("query.offset", Initializer::Zeros());
  p.key_scale = vector("key.scale", Initializer::Normal(kSmall));
  p.key_offset = vector("key.offset", Initializer::Zeros());
  p.bias_left = vector("bias.left", Initializer::Normal(kSmall));
  p.bias_right = vector("bias.right", Initializer::Normal(kSmall));
  p.output = scope.Linear("output", width, e, true);
  return std::make_unique<GatedAttention>(std::move(residual), std::move(p));
}

LRA_REGISTER(BlockRegistry, "gated_attention", MakeGatedAttention);

}  // namespace
}  // namespace lra
