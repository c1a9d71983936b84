// synthesizer: softmax attention whose logits depend on positions, or on the query's token alone.
// Source: Tay et al. 2021 ("Synthesizer: Rethinking Self-Attention in Transformer Models"), eqs.
// 2-6 and section 3.2 (mixtures); LRA2020 as in google-research/long-range-arena.
//   o_i = sum_j softmax_j(s_ij [+ q_i . k_j / sqrt(D)]) v_j
//   RANDOM: s = R;  FACTORIZED_RANDOM: s = R_1 R_2^T;  DENSE: s_i = W_2 relu(W_1 x_i + b_1) + b_2
// each of a head and as wide as the longest sequence. A sum of products is a product of longer
// rows, so all modes but RANDOM need no logits of their own: [q, r_1] . [k, r_2].
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/synthesizer.pb.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

Traits MakeTraits(SynthesizerOptions::Mode mode, bool has_products) {
  Traits traits;
  traits.label = "Synthesizer";
  traits.summary = "softmax attention with learned logits of positions";
  traits.source = "Tay et al. 2021, eqs. 2-6";
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = false;  // each position has logits of its own
  traits.supports_weight_dropout = true;
  traits.causality = Causality::kOptional;
  traits.supports_streaming = true;
  traits.uses_layer_input = mode == SynthesizerOptions::DENSE;
  if (!has_products) traits.rotary_reason = "it reads no queries and keys";
  traits.is_length_bound = true;
  traits.time_order = "N^2 D";
  traits.memory_order = mode == SynthesizerOptions::RANDOM ? "N D + N^2" : "N D";
  return traits;
}

// What the mode owns; the rest is undefined. L: the longest sequence.
struct SynthesizerParameters {
  at::Tensor table;                                  // R: [H, L, L]
  at::Tensor rows, columns;                          // R_1, R_2: [H, L, R]
  at::Tensor hidden, hidden_bias, output, out_bias;  // [H D, E], [H D], [H L, D], [H L]
};

class Synthesizer : public Attention {
 public:
  Synthesizer(SynthesizerOptions::Mode mode, bool has_products, int64_t heads, int64_t longest,
              SynthesizerParameters parameters)
      : traits_(MakeTraits(mode, has_products)),
        mode_(mode),
        has_products_(has_products),
        heads_(heads),
        longest_(longest),
        p_(std::move(parameters)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return AttendFrom(input, 0, input.keep, input.causal);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const int64_t n = input.v.size(2);
    at::Tensor logits = DenseLogits(input), v = input.v;
    if (has_products_) {
      logits = logits + at::einsum("bhid,bhjd->bhij", {input.q, input.k}) /
                            std::sqrt(static_cast<double>(input.q.size(3)));
    }
    at::Tensor masked = at::zeros({v.size(0), 1, n, n}, v.options().dtype(at::kBool));
    if (input.keep.defined()) {
      masked = masked.logical_or(input.keep.logical_not().view({-1, 1, 1, n}));
      v = v.masked_fill(input.keep.logical_not().view({-1, 1, n, 1}), 0);
    }
    if (input.causal) masked = masked.logical_or(at::ones({n, n}, masked.options()).triu(1));
    at::Tensor weights = at::softmax(logits.masked_fill(masked, -1e30), -1).masked_fill(masked, 0);
    if (input.weight_dropout.active()) {
      weights =
          weights * WeightDropoutMask(input.weight_dropout, heads_, n, n).to(weights.options());
    }
    return at::matmul(weights, v);
  }

  // tensors = {k, v, keep} of the tokens so far.
  AttentionState InitState(int64_t, const at::TensorOptions&) const override { return {}; }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    AttentionInput all = piece;
    if (!all.keep.defined()) {
      all.keep = at::ones({piece.v.size(0), piece.v.size(2)},
                          piece.v.options().dtype(at::kBool).requires_grad(false));
    }
    if (!state->tensors.empty()) {
      all.k = at::cat({state->tensors[0], all.k}, 2);
      all.v = at::cat({state->tensors[1], all.v}, 2);
      all.keep = at::cat({state->tensors[2], all.keep}, 1);
    }
    const int64_t before = state->tokens;
    state->tensors = {all.k, all.v, all.keep};
    state->tokens += piece.v.size(2);
    return AttendFrom(all, before, piece.keep, true);
  }

 private:
  // Queries (with x) from token `first` on, keys from 0 on; kept_queries [B, N] or undefined.
  at::Tensor AttendFrom(const AttentionInput& input, int64_t first, const at::Tensor& kept_queries,
                        bool causal) const {
    const int64_t queries = input.q.size(2), keys = input.k.size(2);
    TORCH_CHECK(first + queries == keys, "synthesizer: ", queries, " queries after ", first,
                " tokens and ", keys, " keys; it has no cross-attention");
    TORCH_CHECK(keys <= longest_, "synthesizer: ", keys, " tokens exceed the ", longest_,
                " that its logits are made for; set view.max_length_tokens to at least the longest "
                "sequence");
    at::Tensor q, k, bias;
    if (has_products_) {
      q = input.q / std::sqrt(static_cast<double>(input.q.size(3)));
      k = input.k;
    }
    if (mode_ == SynthesizerOptions::RANDOM) {
      bias = p_.table.narrow(1, first, queries).narrow(2, 0, keys).to(input.v.options());
    } else {
      const std::vector<int64_t> every = {input.v.size(0), -1, -1, -1};
      const at::Tensor from = RowFactors(input, first, kept_queries).expand(every),
                       to = ColumnFactors(keys, input.v.options()).expand(every);
      q = q.defined() ? at::cat({q, from}, -1) : from;
      k = k.defined() ? at::cat({k, to}, -1) : to;
    }
    if (!q.defined()) {  // logits of positions alone: no products
      q = at::zeros({input.v.size(0), heads_, queries, 1}, input.v.options());
      k = at::zeros({input.v.size(0), heads_, keys, 1}, input.v.options());
    }
    // Undoes the division by the root of what is now the width.
    const double root = std::sqrt(static_cast<double>(q.size(3)));
    return SoftmaxAttention(q * root, k, has_products_ ? input.v : Reading(input), input.keep,
                            input.weight_dropout, causal, bias);
  }

  // The values, by a graph that knows q and k, which count for nothing without products: their
  // projections then have gradients, of zero, whichever way the layer makes them.
  static at::Tensor Reading(const AttentionInput& input) {
    if (!input.q.requires_grad() && !input.k.requires_grad()) return input.v;
    const at::Tensor nothing = at::zeros({}, input.v.options());
    const auto touch = [&](const at::Tensor& t) {
      return at::where(at::ones({}, input.v.options().dtype(at::kBool)), nothing, t.sum());
    };
    return input.v + touch(input.q) + touch(input.k);
  }

  // s_ij = row factor i . column factor j: [B or 1, H, N, R], [H, Nk, R].
  at::Tensor RowFactors(const AttentionInput& input, int64_t first,
                        const at::Tensor& kept_queries) const {
    const int64_t queries = input.q.size(2);
    const at::TensorOptions type = input.v.options();
    if (mode_ == SynthesizerOptions::FACTORIZED_RANDOM)
      return p_.rows.narrow(1, first, queries).to(type).unsqueeze(0);
    at::Tensor x = input.x;
    if (kept_queries.defined()) x = x.masked_fill(kept_queries.logical_not().unsqueeze(2), 0);
    const at::Tensor hidden = at::relu(at::linear(x, p_.hidden.to(type), p_.hidden_bias.to(type)))
                                  .unflatten(2, {heads_, -1})
                                  .transpose(1, 2);  // [B, H, N, D], and a 1 for the bias
    return at::cat({hidden, at::ones_like(hidden.narrow(3, 0, 1))}, 3);
  }

  at::Tensor ColumnFactors(int64_t keys, const at::TensorOptions& type) const {
    if (mode_ == SynthesizerOptions::FACTORIZED_RANDOM)
      return p_.columns.narrow(1, 0, keys).to(type);
    return at::cat({p_.output.view({heads_, longest_, -1}).narrow(1, 0, keys),
                    p_.out_bias.view({heads_, longest_, 1}).narrow(1, 0, keys)},
                   2)
        .to(type);
  }

  // s by its definition, [B or 1, H, N, N].
  at::Tensor DenseLogits(const AttentionInput& input) const {
    const int64_t n = input.v.size(2);
    const at::TensorOptions type = input.v.options();
    const auto corner = [&](const at::Tensor& s) { return s.narrow(-2, 0, n).narrow(-1, 0, n); };
    if (mode_ == SynthesizerOptions::RANDOM) return corner(p_.table.to(type)).unsqueeze(0);
    if (mode_ == SynthesizerOptions::FACTORIZED_RANDOM)
      return corner(at::einsum("hir,hjr->hij", {p_.rows.to(type), p_.columns.to(type)}))
          .unsqueeze(0);
    at::Tensor x = input.x;
    if (input.keep.defined()) x = x.masked_fill(input.keep.logical_not().unsqueeze(2), 0);
    std::vector<at::Tensor> heads;
    const std::vector<at::Tensor> w1 = p_.hidden.to(type).chunk(heads_),
                                  b1 = p_.hidden_bias.to(type).chunk(heads_),
                                  w2 = p_.output.to(type).chunk(heads_),
                                  b2 = p_.out_bias.to(type).chunk(heads_);
    for (int64_t h = 0; h < heads_; ++h) {
      const at::Tensor hidden = (at::matmul(x, w1[h].t()) + b1[h]).clamp_min(0);
      heads.push_back((at::matmul(hidden, w2[h].t()) + b2[h]).narrow(2, 0, n));
    }
    return at::stack(heads, 1);
  }

  const Traits traits_;
  const SynthesizerOptions::Mode mode_;
  const bool has_products_;
  const int64_t heads_, longest_;
  const SynthesizerParameters p_;
};

absl::Status CheckVariant(const SynthesizerOptions& options) {
  const bool is_lra = options.variant() == SynthesizerOptions::LRA2020;
  if (!is_lra || (options.mode() == SynthesizerOptions::RANDOM && options.dot_product()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "attention.options.variant: is LRA2020, which is mode RANDOM with dot_product true, but mode "
      "is ",
      SynthesizerOptions::Mode_Name(options.mode()), " and dot_product is ",
      options.dot_product() ? "true" : "false"));
}

absl::StatusOr<std::unique_ptr<Attention>> MakeSynthesizer(const SynthesizerOptions& options,
                                                           const AttentionContext& context) {
  if (context.max_length_tokens < 1)
    return absl::InvalidArgumentError("synthesizer needs the longest sequence's length");
  LRA_RETURN_IF_ERROR(CheckVariant(options));
  const int64_t heads = context.heads, longest = context.max_length_tokens;
  const int64_t width = context.head_width, rank = options.rank();
  const auto create = [&](const char* name, const std::vector<int64_t>& shape,
                          Initializer initializer) {
    return context.parameters->Create(absl::StrCat(context.scope, name), shape, initializer);
  };
  // The variance that Flax's Xavier gives to tables [H, in, out], as in the LRA code.
  const auto table = [&](const char* name, int64_t columns) {
    const double fans = static_cast<double>(heads * (longest + columns));
    return create(name, {heads, longest, columns}, Initializer::Normal(std::sqrt(2 / fans)));
  };
  SynthesizerParameters p;
  if (options.mode() == SynthesizerOptions::RANDOM) {
    p.table = table("logits", longest);
  } else if (options.mode() == SynthesizerOptions::FACTORIZED_RANDOM) {
    p.rows = table("logits.rows", rank);
    p.columns = table("logits.columns", rank);
  } else {
    p.hidden = create("logits.hidden.weight", {heads * width, context.model_width},
                      Initializer::XavierUniform());
    p.hidden_bias =
        create("logits.hidden.bias", {heads * width}, Initializer::Bias(context.model_width));
    p.output =
        create("logits.output.weight", {heads * longest, width}, Initializer::XavierUniform());
    p.out_bias = create("logits.output.bias", {heads * longest}, Initializer::Bias(width));
  }
  return std::make_unique<Synthesizer>(options.mode(), options.dot_product(), heads, longest,
                                       std::move(p));
}

LRA_REGISTER_ATTENTION("synthesizer", SynthesizerOptions, MakeSynthesizer);

}  // namespace
}  // namespace lra
