// bigbird: softmax attention to neighbouring, random and global blocks.
// Source: Zaheer et al. 2020 ("Big Bird"), section 2 and appendix D, in the ITC form. The sequence
// is cut into blocks of b tokens, and query block i sees the key blocks
//   all,  if i is the first or the last
//   {first, last, i - 1, i, i + 1} and r others, drawn per head without replacement,  otherwise
// Each o_i is softmax attention over the tokens of these blocks. "Last" is the example's own last
// block, not that of the padded batch, so neither padding nor the batch changes an output. For the
// same reason, what is drawn is a table of priorities: an example takes the r candidates within its
// length that come first, which is a uniform draw for every length. The variant LRA2020 draws from
// the first 1024 tokens only, as google-research/bigbird and long-range-arena do.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/bigbird.pb.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/grouped_attention.h"
#include "models/kernels/pattern_oracle.h"

namespace lra {
namespace {

constexpr int64_t kLra2020RandomTokens = 1024;

Traits MakeTraits() {
  Traits traits;
  traits.label = "BigBird";
  traits.summary = "softmax attention to neighbouring, random and two global blocks";
  traits.source = "Zaheer et al. 2020, section 2 and appendix D (ITC)";
  traits.is_row_stochastic = true;
  traits.supports_weight_dropout = true;
  traits.causal_reason = "all tokens see the last block";
  traits.is_length_bound = true;
  traits.time_order = "N (7 + r) b D";
  traits.memory_order = "N D";
  return traits;
}

struct Settings {
  int64_t block_tokens, random_blocks, max_length_tokens;
  // Only blocks below this number are candidates for random blocks.
  int64_t random_end = std::numeric_limits<int64_t>::max();
};

class Bigbird : public Attention {
 public:
  // `priorities` is float [H, query blocks, key blocks]; the lowest values come first.
  Bigbird(const Settings& settings, at::Tensor priorities)
      : s_(settings), priorities_(std::move(priorities)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const int64_t n = CheckedTokens(input);
    const at::Tensor last = LastBlocks(input);  // [B]
    const at::Tensor end = last.view({-1, 1, 1, 1});
    AttentionGroups inner, global;
    inner.queries = Blocks(n, s_.block_tokens, input.q.device());
    const int64_t blocks = inner.queries.starts.size(2);
    const at::Tensor i = at::arange(blocks, last.options()).view({1, 1, -1, 1});
    inner.queries.starts = Starts(i.masked_fill(IsEdge(i, end), -1));
    inner.keys = {Starts(InnerKeys(i, end)), s_.block_tokens};
    const at::Tensor zero = at::zeros_like(end);
    global.queries = {Starts(at::cat({zero, end.masked_fill(end == 0, -1)}, 2)), s_.block_tokens};
    global.keys = AllTokens(n, input.q.device());
    std::vector<AttentionGroups> parts = {global};
    if (blocks > 2) parts.push_back(inner);
    return GroupedAttention(input.q, input.k, input.v, input.keep, std::move(parts),
                            input.weight_dropout);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const int64_t n = CheckedTokens(input);
    const at::Tensor last = LastBlocks(input).cpu();
    const int64_t blocks = (n + s_.block_tokens - 1) / s_.block_tokens;
    at::Tensor seen = at::zeros({last.size(0), input.q.size(1), blocks, blocks}, at::kBool);
    for (int64_t e = 0; e < last.size(0); ++e) {
      for (int64_t h = 0; h < input.q.size(1); ++h) {
        const int64_t end = last[e].item<int64_t>();
        for (int64_t i = 0; i <= end; ++i) {
          for (const int64_t j : KeysOfBlock(h, i, end)) seen[e][h][i][j] = true;
        }
      }
    }
    const at::Tensor pairs = seen.repeat_interleave(s_.block_tokens, 2)
                                 .repeat_interleave(s_.block_tokens, 3)
                                 .narrow(2, 0, n)
                                 .narrow(3, 0, n);
    return DensePatternAttention(input.q, input.k, input.v, input.keep, pairs.to(input.q.device()),
                                 input.weight_dropout);
  }

 private:
  int64_t CheckedTokens(const AttentionInput& input) const {
    const int64_t n = input.q.size(2);
    TORCH_CHECK(n <= s_.max_length_tokens && input.q.size(1) == priorities_.size(0),
                "bigbird: ", input.q.size(1), " heads of ", n, " tokens; it was made for ",
                priorities_.size(0), " heads of up to ", s_.max_length_tokens,
                " tokens; set view.max_length_tokens to at least the longest sequence");
    return n;
  }

  // Returns the block of each example's last kept token, [B].
  at::Tensor LastBlocks(const AttentionInput& input) const {
    const int64_t n = input.q.size(2);
    const auto options = at::TensorOptions(at::kLong).device(input.q.device());
    if (!input.keep.defined()) {
      return at::full({input.q.size(0)}, (n - 1) / s_.block_tokens, options);
    }
    return (at::arange(n, options) * input.keep).amax(1).floor_divide(s_.block_tokens);
  }

  // Turns block numbers, where -1 means none, into the positions of their first tokens.
  at::Tensor Starts(const at::Tensor& blocks) const {
    return (blocks * s_.block_tokens).masked_fill(blocks < 0, kNoRun);
  }

  // Whether a block does not lie strictly between the first block, 0, and the last, `end`.
  static at::Tensor IsEdge(const at::Tensor& block, const at::Tensor& end) {
    return block.lt(1).logical_or(block.ge(end));
  }

  // Returns the key blocks of the query blocks i [1, 1, nb, 1]: the first, the last, those of the
  // window, and the random ones, which are none of these. They are [B, H, nb, 5 + min(r, nb)], with
  // -1 for none.
  at::Tensor InnerKeys(const at::Tensor& i, const at::Tensor& end) const {
    const int64_t blocks = i.size(2);
    const std::vector<int64_t> shape = {end.size(0), priorities_.size(0), blocks, -1};
    const at::Tensor window = i + at::arange(-1, 2, i.options());
    const at::Tensor j = i.transpose(2, 3);
    const at::Tensor is_no_candidate =
        (i - j).abs().le(1).logical_or(IsEdge(j, end)).logical_or(j >= s_.random_end);
    const at::Tensor order =
        priorities_.to(i.device())
            .narrow(1, 0, blocks)
            .narrow(2, 0, blocks)
            .masked_fill(is_no_candidate, std::numeric_limits<float>::infinity());
    const auto [priority, random] =
        order.topk(std::min(s_.random_blocks, blocks), -1, /*largest=*/false);
    const at::Tensor global = at::cat({at::zeros_like(end), end.masked_fill(end == 0, -1)}, 3);
    return at::cat({global.expand(shape), window.masked_fill(IsEdge(window, end), -1).expand(shape),
                    random.masked_fill(priority.isinf(), -1)},
                   3);
  }

  // Returns, from the definition, the key blocks that query block i of head h sees in an example of
  // end + 1 blocks.
  std::vector<int64_t> KeysOfBlock(int64_t h, int64_t i, int64_t end) const {
    std::vector<int64_t> keys;
    std::vector<std::pair<float, int64_t>> others;
    for (int64_t j = 0; j <= end; ++j) {
      const bool is_global = i == 0 || i == end || j == 0 || j == end;
      if (is_global || std::abs(i - j) <= 1) {
        keys.push_back(j);
      } else if (j < s_.random_end) {
        others.emplace_back(priorities_[h][i][j].item<float>(), j);
      }
    }
    std::sort(others.begin(), others.end());
    const int64_t taken = std::min<int64_t>(s_.random_blocks, others.size());
    for (int64_t r = 0; r < taken; ++r) keys.push_back(others[r].second);
    return keys;
  }

  const Traits traits_ = MakeTraits();
  const Settings s_;
  const at::Tensor priorities_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeBigbird(const BigbirdOptions& options,
                                                       const AttentionContext& context) {
  Settings settings;
  settings.block_tokens = options.block_tokens();
  settings.random_blocks = options.random_blocks();
  settings.max_length_tokens = context.max_length_tokens;
  if (options.variant() == BigbirdOptions::LRA2020) {
    settings.random_end = kLra2020RandomTokens / settings.block_tokens;
  }
  LRA_CHECK(context.parameters != nullptr);
  const int64_t blocks = std::max<int64_t>(
      1, (context.max_length_tokens + settings.block_tokens - 1) / settings.block_tokens);
  const at::Tensor priorities =
      context.parameters->CreateBuffer(absl::StrCat(context.scope, "block_priorities"),
                                       {context.heads, blocks, blocks}, Initializer::Normal(1));
  return std::make_unique<Bigbird>(settings, priorities);
}

LRA_REGISTER_ATTENTION("bigbird", BigbirdOptions, MakeBigbird);

}  // namespace
}  // namespace lra
