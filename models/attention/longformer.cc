// longformer: softmax attention in a sliding window, plus global tokens.
// Source: Beltagy et al. 2020 ("Longformer"), section 3.1, without dilation:
//   o_i = sum_j softmax_j(q_i . k_j / sqrt(D)) v_j      over j with |i - j| <= w  or  j < g
//   o_i = sum_j softmax_j(q'_i . k'_j / sqrt(D)) v'_j   over all j, for the global tokens i < g
// where q', k' and v' come from projections of their own, without biases. In the authors' code
// these projections start as copies of the layer's; here they are drawn from the same distribution.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/longformer.pb.h"
#include "models/attention/pattern_stream.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/grouped_attention.h"
#include "models/kernels/pattern_oracle.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

constexpr int64_t kShortWindowTokens = 128, kLongWindowTokens = 256, kLongTokens = 2048;

struct Settings {
  int64_t before, after;  // tokens that the window holds on each side
  int64_t global_tokens;
};

// The projections [H D, E] of global tokens; undefined where these use the layer's own.
struct GlobalProjections {
  at::Tensor query, key, value;
};

Traits MakeTraits(const Settings& settings, bool has_projections) {
  Traits traits;
  traits.label = "Longformer";
  traits.summary = "softmax attention in a sliding window, plus global tokens";
  traits.source = "Beltagy et al. 2020, section 3.1";
  // Global tokens average values of their own, v', not the layer's v.
  traits.is_row_stochastic = !has_projections;
  traits.has_weights = !has_projections;
  traits.uses_layer_input = has_projections;
  if (has_projections)
    traits.rotary_reason = "its global tokens have queries and keys of their own";
  traits.supports_weight_dropout = true;
  if (settings.global_tokens == 0) {
    traits.causality = Causality::kOptional;
    traits.supports_streaming = true;
  } else {
    traits.causal_reason =
        "global tokens see and show later ones; attention.options.global_tokens=0 has none";
  }
  traits.time_order = "N (2w + g) D";
  traits.memory_order = "N D";
  return traits;
}

class Longformer : public Attention {
 public:
  Longformer(const Settings& settings, GlobalProjections global, int64_t heads, int64_t head_width)
      : traits_(MakeTraits(settings, global.query.defined())),
        s_(settings),
        global_(std::move(global)),
        heads_(heads),
        head_width_(head_width) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const int64_t n = input.q.size(2), globals = std::min(s_.global_tokens, n);
    const at::Device device = input.q.device();
    const int64_t after = input.causal ? 0 : s_.after;
    if (globals == 0) return Grouped(input, {Window(n, s_.before, after, device)});
    AttentionGroups columns;
    columns.keys = AllTokens(globals, device);
    columns.queries = {columns.keys.starts + globals, n - globals};
    std::vector<AttentionGroups> parts = {columns};
    if (n > globals) {
      // The window of all other tokens, without the global keys, which `columns` already has.
      AttentionGroups window = Window(n - globals, s_.before, after, device);
      window.queries.starts = window.queries.starts + globals;
      window.keys.starts = window.keys.starts + globals;
      window.keys.first_token = globals;
      parts.push_back(window);
    }
    return at::cat({GlobalRows(input, globals),
                    Grouped(input, std::move(parts)).narrow(2, globals, n - globals)},
                   2);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor position = at::arange(input.q.size(2), input.q.options().dtype(at::kLong));
    const at::Tensor i = position.unsqueeze(1), j = position.unsqueeze(0);
    at::Tensor pairs = Sees(i, j).logical_or(j < s_.global_tokens).logical_or(i < s_.global_tokens);
    if (input.causal) pairs = pairs.logical_and(j <= i);
    const at::Tensor local = Dense(input, pairs);
    if (!global_.query.defined()) return local;
    return at::where(i < s_.global_tokens, Dense(GlobalInput(input, input.q.size(2)), i.eq(i)),
                     local);
  }

  AttentionState InitState(int64_t batch, const at::TensorOptions& options) const override {
    return InitPatternState(batch, heads_, head_width_, options);
  }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    return ExtendPattern({[&](const at::Tensor& i, const at::Tensor& j) { return Sees(i, j); },
                          [&](const at::Tensor& j, int64_t next) { return j >= next - s_.before; }},
                         piece, state);
  }

 private:
  at::Tensor Sees(const at::Tensor& i, const at::Tensor& j) const {
    return (j - i >= -s_.before).logical_and(j - i <= s_.after);
  }

  static at::Tensor Grouped(const AttentionInput& input, std::vector<AttentionGroups> parts) {
    return GroupedAttention(input.q, input.k, input.v, input.keep, std::move(parts),
                            input.weight_dropout);
  }
  static at::Tensor Dense(const AttentionInput& input, const at::Tensor& pairs) {
    return DensePatternAttention(input.q, input.k, input.v, input.keep, pairs,
                                 input.weight_dropout);
  }

  // The outputs of the first tokens, which see all, [B, H, globals, Dv].
  at::Tensor GlobalRows(const AttentionInput& input, int64_t globals) const {
    AttentionInput global = input;
    if (global_.query.defined()) global = GlobalInput(input, globals);
    return SoftmaxAttention(global.q.narrow(2, 0, globals), global.k, global.v, global.keep,
                            global.weight_dropout);
  }

  // Returns the input with the q' of the first tokens, [B, H, queries, D], and k' and v' of all.
  AttentionInput GlobalInput(const AttentionInput& input, int64_t queries) const {
    at::Tensor x = input.x;  // [B, N, E]
    TORCH_CHECK(x.defined() && x.size(2) == global_.query.size(1),
                "longformer: its projections for global tokens want a layer input of width ",
                global_.query.size(1));
    if (input.keep.defined()) x = x.masked_fill(input.keep.logical_not().unsqueeze(2), 0);
    const auto project = [&](const at::Tensor& tokens, const at::Tensor& map) {
      return at::matmul(tokens, map.to(x.options()).t())
          .unflatten(2, {heads_, head_width_})
          .transpose(1, 2);
    };
    AttentionInput global = input;
    global.q = project(x.narrow(1, 0, queries), global_.query);
    global.k = project(x, global_.key);
    global.v = project(x, global_.value);
    return global;
  }

  const Traits traits_;
  const Settings s_;
  const GlobalProjections global_;
  const int64_t heads_, head_width_;
};

absl::StatusOr<Settings> MakeSettings(const LongformerOptions& options, int64_t longest_tokens) {
  const bool is_lra2020 = options.variant() == LongformerOptions::LRA2020;
  Settings settings;
  settings.global_tokens = options.global_tokens();
  settings.after = options.window_tokens();
  if (settings.after == 0) {
    settings.after =
        is_lra2020 || longest_tokens >= kLongTokens ? kLongWindowTokens : kShortWindowTokens;
  }
  settings.before = is_lra2020 ? settings.after - 1 : settings.after;
  if (settings.global_tokens > longest_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options.global_tokens: is ", settings.global_tokens,
                     "; set at most the longest sequence, ", longest_tokens, " tokens"));
  }
  return settings;
}

absl::StatusOr<std::unique_ptr<Attention>> MakeLongformer(const LongformerOptions& options,
                                                          const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const Settings settings, MakeSettings(options, context.max_length_tokens));
  GlobalProjections global;
  if (settings.global_tokens > 0 && !options.tied_global_projections()) {
    LRA_CHECK(context.parameters != nullptr);
    const auto create = [&](const char* name) {
      return context.parameters->Create(absl::StrCat(context.scope, name),
                                        {context.heads * context.head_width, context.model_width},
                                        Initializer::XavierUniform());
    };
    global = {create("global_query.weight"), create("global_key.weight"),
              create("global_value.weight")};
  }
  return std::make_unique<Longformer>(settings, std::move(global), context.heads,
                                      context.head_width);
}

LRA_REGISTER_ATTENTION("longformer", LongformerOptions, MakeLongformer);

}  // namespace
}  // namespace lra
