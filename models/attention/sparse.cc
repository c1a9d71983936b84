// sparse: the Sparse Transformer's patterns. Each head sees what the paper's two kinds of heads see
// together (its "merged" heads).
// Source: Child et al. 2019 ("Generating Long Sequences with Sparse Transformers"), sections 4.2,
// 4.3 and 5.2:
//   o_i = sum_j softmax_j(q_i . k_j / sqrt(D)) v_j  over j with
//   FIXED    floor(i / l) = floor(j / l)  or  j mod l >= l - c
//   STRIDED  |i - j| < l  or  (i - j) mod l = 0
// where l is block_tokens and c is summary_tokens. The paper also demands j <= i; here that holds
// where input.causal asks for it. The variant LRA2020 is the encoder of
// google-research/long-range-arena: it always demands j <= i, and FIXED also admits j mod l = 0.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/pattern_stream.h"
#include "models/attention/sparse.pb.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/grouped_attention.h"
#include "models/kernels/pattern_oracle.h"

namespace lra {
namespace {

struct Settings {
  int64_t block_tokens, summary_tokens;
  bool is_strided, is_lra2020;
  // 0, or 1: token 0 sees all tokens and is seen by all, and the pattern starts after it
  int64_t open_tokens;
};

Traits MakeTraits(const Settings& settings) {
  Traits traits;
  traits.label = "Sparse Trans.";
  traits.summary = settings.is_strided
                       ? "softmax attention to near tokens and to every l-th"
                       : "softmax attention to the own block and to each block's last tokens";
  traits.source = "Child et al. 2019, sections 4.2, 4.3 and 5.2 (heads merged)";
  traits.is_row_stochastic = true;
  traits.supports_weight_dropout = true;
  traits.causality = Causality::kOptional;
  if (settings.is_lra2020) {
    const bool is_open = settings.open_tokens > 0;
    traits.causality = is_open ? Causality::kNever : Causality::kAlways;
    traits.causal_reason =
        is_open ? "token 0 sees and shows later ones; attention.options.opens_first_token=false "
                  "does not let it"
                : "variant=LRA2020 looks back; attention.options.opens_first_token=true lets token "
                  "0 see all";
  }
  traits.supports_streaming = settings.open_tokens == 0;
  traits.time_order = settings.is_strided ? "N (l + N / l) D" : "N (l + c N / l) D";
  traits.memory_order = "N D";
  return traits;
}

class Sparse : public Attention {
 public:
  Sparse(const Settings& settings, int64_t heads, int64_t head_width)
      : traits_(MakeTraits(settings)), s_(settings), heads_(heads), head_width_(head_width) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const int64_t n = input.q.size(2);
    const at::Device device = input.q.device();
    std::vector<AttentionGroups> parts;
    if (n > s_.open_tokens) {
      parts = s_.is_strided ? StridedParts(n, IsCausal(input), device)
                            : FixedParts(n, IsCausal(input), device);
    }
    if (s_.open_tokens > 0) AddOpenToken(n, device, &parts);
    return GroupedAttention(input.q, input.k, input.v, input.keep, std::move(parts),
                            input.weight_dropout);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor position = at::arange(input.q.size(2), input.q.options().dtype(at::kLong));
    const at::Tensor i = position.unsqueeze(1), j = position.unsqueeze(0);
    at::Tensor pairs = Sees(i - s_.open_tokens, j - s_.open_tokens);
    if (IsCausal(input)) pairs = pairs.logical_and(j <= i);
    if (s_.open_tokens > 0) pairs = pairs.logical_or(i == 0).logical_or(j == 0);
    return DensePatternAttention(input.q, input.k, input.v, input.keep, pairs,
                                 input.weight_dropout);
  }

  AttentionState InitState(int64_t batch, const at::TensorOptions& options) const override {
    return InitPatternState(batch, heads_, head_width_, options);
  }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    const int64_t l = s_.block_tokens;
    return ExtendPattern({[&](const at::Tensor& i, const at::Tensor& j) { return Sees(i, j); },
                          [&](const at::Tensor& j, int64_t next) {
                            if (s_.is_strided) return at::ones_like(j, at::kBool);
                            return IsSummary(j).logical_or(j.floor_divide(l) == next / l);
                          }},
                         piece, state);
  }

 private:
  bool IsCausal(const AttentionInput& input) const { return input.causal || s_.is_lra2020; }

  at::Tensor IsSummary(const at::Tensor& j) const {
    const at::Tensor place = j.remainder(s_.block_tokens);
    const at::Tensor is_last = place >= s_.block_tokens - s_.summary_tokens;
    return s_.is_lra2020 ? is_last.logical_or(place == 0) : is_last;
  }

  // Those of `tokens` tokens for which IsSummary() holds. The host knows how many they are, so that
  // nobody waits for a device to count them.
  at::Tensor Summaries(int64_t tokens, const at::TensorOptions& options) const {
    if (tokens == 0) return at::empty({0}, options);
    const int64_t l = s_.block_tokens, first = std::max<int64_t>(0, l - s_.summary_tokens);
    const bool has_start = s_.is_lra2020 && first > 0;
    at::Tensor places = at::arange(first, l, options);  // in a block
    if (has_start) places = at::cat({at::zeros({1}, options), places});
    const int64_t blocks = (tokens + l - 1) / l, of_last = tokens - (blocks - 1) * l;
    const int64_t count =
        (blocks - 1) * places.size(0) + std::max<int64_t>(0, of_last - first) + (has_start ? 1 : 0);
    return (at::arange(blocks, options).unsqueeze(1) * l + places).flatten().narrow(0, 0, count);
  }

  // Whether i sees j by the definition, leaving out the condition j <= i.
  at::Tensor Sees(const at::Tensor& i, const at::Tensor& j) const {
    const int64_t l = s_.block_tokens;
    if (s_.is_strided) {
      return (i - j).abs().lt(l).logical_or((i - j).remainder(l) == 0);
    }
    return (i.floor_divide(l) == j.floor_divide(l)).logical_or(IsSummary(j));
  }

  // Returns two parts: the tokens of the own block, and the summary tokens of the other blocks (in
  // the causal form, of those before).
  std::vector<AttentionGroups> FixedParts(int64_t n, bool causal, at::Device device) const {
    const int64_t block = std::min(s_.block_tokens, n), first = s_.open_tokens;
    const auto options = at::TensorOptions(at::kLong).device(device);
    AttentionGroups own, others;
    own.queries.starts = at::arange(first, n, block, options).view({1, 1, -1, 1});
    own.queries.run_tokens = block;
    own.keys = others.queries = own.queries;
    if (causal) own.pairs = at::ones({block, block}, options.dtype(at::kBool)).tril();
    others.keys.starts = (Summaries(n - first, options) + first).view({1, 1, 1, -1});
    others.sees = [=](const GroupTile& tile) {
      const at::Tensor query = tile.queries.narrow(1, 0, 1);  // any query of the block
      const at::Tensor start = (query - first).floor_divide(block) * block + first;
      const at::Tensor is_before = tile.keys < start;
      return causal ? is_before : is_before.logical_or(tile.keys >= start + block);
    };
    return {own, others};
  }

  // Returns two parts: the near tokens, and those with the same residue modulo l that are not near.
  std::vector<AttentionGroups> StridedParts(int64_t n, bool causal, at::Device device) const {
    const int64_t l = std::min(s_.block_tokens, n), rows = (n + l - 1) / l;
    const auto options = at::TensorOptions(at::kLong).device(device);
    AttentionGroups same;
    same.queries.starts =
        (at::arange(l, options).unsqueeze(1) + at::arange(rows, options) * l).view({1, 1, l, rows});
    same.keys = same.queries;
    same.pairs = at::ones({rows, rows}, options.dtype(at::kBool));
    same.pairs = causal ? same.pairs.tril(-1) : same.pairs.fill_diagonal_(false);
    return {Window(n, l - 1, causal ? 0 : l - 1, device), same};
  }

  // Adds two parts: token 0 sees all tokens, and all other tokens see token 0.
  static void AddOpenToken(int64_t n, at::Device device, std::vector<AttentionGroups>* parts) {
    AttentionGroups row, column;
    row.queries = column.keys = AllTokens(1, device);
    row.keys = column.queries = AllTokens(n, device);
    column.queries.starts = column.queries.starts + 1;
    column.queries.run_tokens = n - 1;
    parts->push_back(row);
    parts->push_back(column);
  }

  const Traits traits_;
  const Settings s_;
  const int64_t heads_, head_width_;
};

absl::Status CheckTogether(const Settings& s) {
  if (s.is_strided && s.is_lra2020) {
    return absl::InvalidArgumentError(
        "attention.options.pattern: is STRIDED, but variant=LRA2020 is of FIXED; set "
        "variant=PAPER");
  }
  if (!s.is_strided && s.summary_tokens > s.block_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("attention.options.summary_tokens: is ",
                                                   s.summary_tokens, "; set at most block_tokens, ",
                                                   s.block_tokens));
  }
  if (s.open_tokens > 0 && !s.is_lra2020) {
    return absl::InvalidArgumentError(
        "attention.options.opens_first_token: is true, which only variant=LRA2020 knows");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Attention>> MakeSparse(const SparseOptions& options,
                                                      const AttentionContext& context) {
  const Settings s = {.block_tokens = options.block_tokens(),
                      .summary_tokens = options.summary_tokens(),
                      .is_strided = options.pattern() == SparseOptions::STRIDED,
                      .is_lra2020 = options.variant() == SparseOptions::LRA2020,
                      .open_tokens = options.opens_first_token() ? 1 : 0};
  LRA_RETURN_IF_ERROR(CheckTogether(s));
  return std::make_unique<Sparse>(s, context.heads, context.head_width);
}

LRA_REGISTER_ATTENTION("sparse", SparseOptions, MakeSparse);

}  // namespace
}  // namespace lra
