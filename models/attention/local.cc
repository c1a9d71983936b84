// local: softmax attention within blocks of consecutive tokens.
// Source: Liu et al. 2018 ("Generating Wikipedia by Summarizing Long Sequences", section 4.2.3),
// row "Local Attention" of Tay et al. 2021 ("Long Range Arena"):
//   o_i = sum_j softmax_j(q_i . k_j / sqrt(D)) v_j  over j with floor(i / b) = floor(j / b)
//
// LRA2020 is the function of google-research/long-range-arena, in its file
// lra_benchmarks/models/local/local_attention.py: the sequence gets b - N mod b zero tokens (a
// whole block if b divides N), and the reshape makes a "block" of every (N' / b)-th token instead
// of neighbours. The mask, however, is reshaped to neighbours: the t-th token of group g is masked
// by token g b + t. The added zeros are keys. Left out here: padded tokens that this mask lets
// through count as zeros, and the mask hides no queries.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "models/attention/local.pb.h"
#include "models/attention/pattern_stream.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/block_attention.h"
#include "models/kernels/grouped_attention.h"
#include "models/kernels/pattern_oracle.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "Local Attention";
  traits.summary = "softmax attention within blocks of consecutive tokens";
  traits.source = "Liu et al. 2018, section 4.2.3; Tay et al. 2021";
  traits.is_row_stochastic = true;
  traits.supports_weight_dropout = true;
  traits.causality = Causality::kOptional;
  traits.supports_streaming = true;
  traits.time_order = "N b D";
  traits.memory_order = "N D";
  return traits;
}

class Local : public Attention {
 public:
  Local(int64_t block_tokens, int64_t heads, int64_t head_width)
      : block_tokens_(block_tokens), heads_(heads), head_width_(head_width) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    if (!input.weight_dropout.active()) {
      return BlockAttention(input.q, {{input.k, input.v, input.keep}}, block_tokens_, input.causal);
    }
    const int64_t n = input.q.size(2), block = std::min(block_tokens_, n);
    AttentionGroups groups;
    groups.queries = groups.keys = Blocks(n, block, input.q.device());
    if (input.causal)
      groups.pairs = at::ones({block, block}, input.q.options().dtype(at::kBool)).tril();
    return GroupedAttention(input.q, input.k, input.v, input.keep, {groups}, input.weight_dropout);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor position = at::arange(input.q.size(2), input.q.options().dtype(at::kLong));
    const at::Tensor i = position.unsqueeze(1), j = position.unsqueeze(0);
    at::Tensor pairs = i.floor_divide(block_tokens_) == j.floor_divide(block_tokens_);
    if (input.causal) pairs = pairs.logical_and(j <= i);
    return DensePatternAttention(input.q, input.k, input.v, input.keep, pairs,
                                 input.weight_dropout);
  }

  AttentionState InitState(int64_t batch, const at::TensorOptions& options) const override {
    return InitPatternState(batch, heads_, head_width_, options);
  }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    const auto block = [&](const at::Tensor& t) { return t.floor_divide(block_tokens_); };
    return ExtendPattern(
        {[&](const at::Tensor& i, const at::Tensor& j) { return block(i) == block(j); },
         [&](const at::Tensor& j, int64_t next) { return block(j) == next / block_tokens_; }},
        piece, state);
  }

 private:
  const Traits traits_ = MakeTraits();
  const int64_t block_tokens_, heads_, head_width_;
};

class Lra2020Local : public Attention {
 public:
  explicit Lra2020Local(int64_t block_tokens) : block_tokens_(block_tokens) {
    traits_.summary = "softmax attention within groups of every n-th token";
    traits_.source = "google-research/long-range-arena, models/local/local_attention.py";
    traits_.causality = Causality::kNever;
    traits_.causal_reason =
        "its groups follow the whole length; attention.options.variant=PAPER has a causal form";
    traits_.supports_streaming = false;
    traits_.is_row_stochastic = false;  // the zeros take their share
    traits_.is_padding_invariant = false;
    traits_.padding_reason = "groups and masks follow the padded length";
  }

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const Padded padded = Pad(input);
    const auto options = input.q.options().dtype(at::kLong);
    const int64_t groups = padded.tokens / block_tokens_;
    AttentionGroups strided;  // group g: tokens g, g + groups, ..
    strided.queries.starts =
        (at::arange(groups, options).unsqueeze(1) + at::arange(block_tokens_, options) * groups)
            .view({1, 1, groups, block_tokens_});
    strided.keys = strided.queries;
    return GroupedAttention(padded.q, padded.k, padded.v, padded.keep, {strided},
                            input.weight_dropout)
        .narrow(2, 0, input.q.size(2));
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const Padded padded = Pad(input);
    const at::Tensor group = at::arange(padded.tokens, input.q.options().dtype(at::kLong))
                                 .remainder(padded.tokens / block_tokens_);
    return DensePatternAttention(padded.q, padded.k, padded.v, padded.keep,
                                 group.unsqueeze(1) == group.unsqueeze(0), input.weight_dropout)
        .narrow(2, 0, input.q.size(2));
  }

 private:
  struct Padded {
    int64_t tokens;
    at::Tensor q, k, v, keep;
  };

  Padded Pad(const AttentionInput& input) const {
    const int64_t n = input.q.size(2), more = block_tokens_ - n % block_tokens_;
    const auto pad = [&](const at::Tensor& t, bool masks) {
      const at::Tensor kept =
          masks && input.keep.defined()
              ? t.masked_fill(input.keep.logical_not().view({t.size(0), 1, n, 1}), 0)
              : t;
      return at::constant_pad_nd(kept, {0, 0, 0, more});
    };
    Padded padded = {n + more, pad(input.q, false), pad(input.k, true), pad(input.v, true), {}};
    if (input.keep.defined()) {
      // Token g + t groups is judged by token g b + t.
      padded.keep = at::constant_pad_nd(input.keep, {0, more}, true)
                        .view({input.keep.size(0), -1, block_tokens_})
                        .transpose(1, 2)
                        .flatten(1);
    }
    return padded;
  }

  Traits traits_ = MakeTraits();
  const int64_t block_tokens_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeLocal(const LocalOptions& options,
                                                     const AttentionContext& context) {
  if (options.variant() == LocalOptions::LRA2020)
    return std::make_unique<Lra2020Local>(options.block_tokens());
  return std::make_unique<Local>(options.block_tokens(), context.heads, context.head_width);
}

LRA_REGISTER_ATTENTION("local", LocalOptions, MakeLocal);

}  // namespace
}  // namespace lra
