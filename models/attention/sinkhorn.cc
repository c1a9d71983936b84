// sinkhorn: attention within each block of tokens, and to one mixture of all blocks for each block,
// which a soft permutation of the blocks makes.
// Source: Tay et al. 2020 ("Sparse Sinkhorn Attention"), sections 3.1-3.3; temperature and number
// of iterations as in lucidrains/sinkhorn-transformer.
//   r_nm = (mean of the keys of block n) . w_m;  P = Sinkhorn((r + Gumbel noise in training) / tau)
//   k~_n[s] = sum_m P_nm k_m[s], v~ likewise
//   o_i = softmax over the 2 b keys [k_n, k~_n] of i's block n, logits over sqrt(D)
// The sorting network is neither the paper's, P = sigma(W_B sigma(W_P x_n + b_P) + b_B) of the sum
// x_n of the block's inputs, nor that of lucidrains, relu([sum of q, sum of k] W) with a W for each
// head: it is linear, sees keys only, as a mean, and has one w for all heads.
// The vectors w_m are learned, k_m[s] is the key of token s in block m, and Sinkhorn() takes the
// exponential and divides its rows and its columns by their sums in turn. A block without kept
// tokens takes no part in the mixing. Where token s is masked in some of the blocks, the weights of
// the others are scaled up so that they sum to what P's row sums to. In the causal form, r_n uses
// the mean of all keys before block n, each row of P is a softmax over the blocks m < n, and within
// its own block a token sees itself and earlier tokens only. The variant LRA2020 is in
// sinkhorn_lra2020.cc.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <utility>

#include "models/attention/sinkhorn.pb.h"
#include "models/attention/sinkhorn_blocks.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/block_attention.h"
#include "models/kernels/block_mixing.h"
#include "models/kernels/noise.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "Sinkhorn Trans.";
  traits.summary = "attention within blocks and to a soft permutation of the blocks";
  traits.source = "Tay et al. 2020, sections 3.1-3.3";
  traits.is_row_stochastic = false;  // after the iterations P's rows sum to 1 only approximately
  traits.is_permutation_invariant = false;
  traits.causality = Causality::kOptional;
  traits.is_length_bound = true;  // the sorting has a row for each block
  traits.time_order = "N b D + (N / b)^2 b D";
  traits.memory_order = "N D + (N / b)^2";
  return traits;
}

class Sinkhorn : public Attention {
 public:
  // `sort` holds the vectors w_m, [blocks of the longest sequence, D].
  Sinkhorn(const SinkhornOptions& options, int64_t longest_tokens, at::Tensor sort)
      : block_(options.block_tokens()),
        iterations_(options.iterations()),
        temperature_(options.temperature()),
        longest_tokens_(longest_tokens),
        sort_(std::move(sort)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    TORCH_CHECK(input.k.size(2) <= longest_tokens_, "sinkhorn: ", input.k.size(2),
                " tokens exceed the ", longest_tokens_,
                " that its sorting is made for; set view.max_length_tokens to at least the longest "
                "sequence");
    const SinkhornBlocks blocks(input, block_);
    const at::Tensor admitted = Admitted(blocks, input.causal);  // [B, n, n]
    const std::vector<BlockKeys> keys = Keys(blocks, MixingOf(blocks, admitted, input), admitted);
    return BlockAttention(Tokens(blocks.q), keys, block_, input.causal)
        .narrow(2, 0, input.q.size(2));
  }

  // Computes each block by itself, and one mixed key and value after the other.
  at::Tensor Oracle(const AttentionInput& input) const override {
    const int64_t tokens = input.k.size(2);
    std::vector<at::Tensor> outputs;
    for (int64_t b = 0; b < input.q.size(0); ++b) {
      // Positions of the kept tokens, by block.
      std::vector<std::vector<int64_t>> kept((tokens + block_ - 1) / block_);
      for (int64_t j = 0; j < tokens; ++j) {
        if (!input.keep.defined() || input.keep[b][j].item<bool>()) kept[j / block_].push_back(j);
      }
      const std::vector<Row> rows =
          input.causal ? CausalRows(input, b, kept) : Rows(input, b, kept);
      std::vector<at::Tensor> blocks;
      for (size_t n = 0; n < rows.size(); ++n)
        blocks.push_back(OracleBlock(input, b, kept, rows[n], static_cast<int64_t>(n)));
      outputs.push_back(at::cat(blocks, 1));
    }
    return at::stack(outputs);
  }

 private:
  // The soft permutation P. Each row of its weights is divided by the row's largest entry, which
  // keeps the weights from underflowing.
  struct Mixing {
    at::Tensor logs;      // log P, [B, H, n, n]; kNever where it is 0
    at::Tensor weights;   // [B, H, n, n]
    at::Tensor row_sums;  // of P, [B, H, n, 1]
  };
  struct MixedKeysAndValues {
    MixedBlocks k, v;
  };

  static at::Tensor Tokens(const at::Tensor& blocks) { return blocks.flatten(2, 3); }

  // Returns each block's own keys and values, and the mixed ones.
  static std::vector<BlockKeys> Keys(const SinkhornBlocks& blocks, const Mixing& mixing,
                                     const at::Tensor& admitted) {
    const bool by_place = !blocks.is_full && IsSteep(mixing.logs, admitted);
    const MixedKeysAndValues mixed =
        by_place ? MixByPlace(blocks, mixing, admitted) : MixTogether(blocks, mixing);
    const at::Tensor kept = blocks.keep.to(blocks.k.options());
    const at::Tensor is_mixed = at::matmul(admitted.to(kept.options()), kept) > 0;  // [B, n, b]
    return {{mixed.k.own, mixed.v.own, blocks.is_full ? at::Tensor() : blocks.keep.flatten(1)},
            {mixed.k.mixed, mixed.v.mixed, is_mixed.flatten(1)}};
  }

  // Whether some row gives a block so little beside its favourite that float32 could not hold the
  // sum of such blocks, or the square of its inverse, which gradients hold: where the favourite has
  // no token, that sum is divided by. Of a device it is assumed: an answer would be waited for.
  static bool IsSteep(const at::Tensor& logs, const at::Tensor& admitted) {
    if (!logs.is_cpu()) return true;
    constexpr double kSteepest = 30;
    const at::Tensor values = logs.detach(), hidden = admitted.logical_not().unsqueeze(1);
    const at::Tensor spread = values.amax(3) - values.masked_fill(hidden, -kNever).amin(3);
    return spread.max().item<double>() > kSteepest;
  }

  // Makes a row's shares for each place s in a block by itself, over the blocks whose token s is
  // kept. Takes n / D times the memory of the keys.
  static MixedKeysAndValues MixByPlace(const SinkhornBlocks& blocks, const Mixing& mixing,
                                       const at::Tensor& admitted) {
    const int64_t block = blocks.k.size(3);
    const at::Tensor taken = admitted.unsqueeze(1).logical_and(
        blocks.keep.transpose(1, 2).unsqueeze(2));  // [B, b, n, n]
    const at::Tensor logs = mixing.logs.unsqueeze(2)
                                .expand({-1, -1, block, -1, -1})
                                .masked_fill(taken.logical_not().unsqueeze(1), kNever);
    const at::Tensor shares = at::softmax(logs, -1);  // [B, H, b, n, n]
    const at::Tensor none =
        taken.any(3).logical_not().transpose(1, 2).unsqueeze(1);  // [B, 1, n, b]
    const at::Tensor sums =
        mixing.row_sums.expand({-1, -1, -1, block}).masked_fill(none, 0).unsqueeze(4);
    const auto mix = [&](const at::Tensor& x) -> MixedBlocks {
      const at::Tensor means = at::matmul(shares, x.transpose(2, 3)).transpose(2, 3);
      return {Tokens(x), Tokens(means * sums)};
    };
    return {mix(blocks.k), mix(blocks.v)};
  }

  // Takes one matrix of weights for all places, and scales what it makes of each.
  static MixedKeysAndValues MixTogether(const SinkhornBlocks& blocks, const Mixing& mixing) {
    const at::Tensor kept = blocks.keep.to(blocks.k.options());
    // For each place s in a block, the sum of the weights of those blocks whose token s is kept,
    // [B, H, n, b]; 0 where there is no such block. If all tokens are kept, it is the same for all
    // places, [B, H, n, 1].
    const at::Tensor sums = blocks.is_full ? mixing.weights.sum(3, true)
                                           : at::matmul(mixing.weights, kept.unsqueeze(1));
    const at::Tensor scale = mixing.row_sums / sums.masked_fill(sums == 0, 1);
    const at::Tensor weights = blocks.is_full ? mixing.weights * scale : mixing.weights;
    const int64_t block = blocks.k.size(3);
    const auto mix = [&](const at::Tensor& x) {
      MixedBlocks both = MixBlocks(weights, Tokens(x), block);
      if (!blocks.is_full) both.mixed = both.mixed * scale.flatten(2).unsqueeze(-1);
      return both;
    };
    return {mix(blocks.k), mix(blocks.v)};
  }

  // Returns bool [B, n, n]: whether the mixture for the row's block may contain the column's block.
  static at::Tensor Admitted(const SinkhornBlocks& blocks, bool causal) {
    const at::Tensor is_real = blocks.keep.any(2);
    const at::Tensor columns = is_real.unsqueeze(1);
    if (!causal) return is_real.unsqueeze(2).logical_and(columns);
    const int64_t n = is_real.size(1);
    return columns.logical_and(at::ones({n, n}, is_real.options()).tril(-1));
  }

  // Returns the mean of each block's kept keys or, in the causal form, of all kept keys before the
  // block, [B, H, n, D]; 0 where there are none.
  static at::Tensor MeanKeys(const SinkhornBlocks& blocks, bool causal) {
    at::Tensor sums = blocks.k.sum(3), counts = blocks.keep.sum(2).unsqueeze(1).unsqueeze(3);
    if (causal) {
      const auto before = [](const at::Tensor& x) {
        return at::constant_pad_nd(x.slice(2, 0, -1).cumsum(2), {0, 0, 1, 0});
      };
      sums = before(sums);
      counts = before(counts);
    }
    return sums / counts.clamp_min(1).to(sums.options());
  }

  Mixing MixingOf(const SinkhornBlocks& blocks, const at::Tensor& admitted,
                  const AttentionInput& input) const {
    const int64_t n = blocks.k.size(2);
    const at::Tensor means = MeanKeys(blocks, input.causal);
    at::Tensor log_p = at::matmul(means, sort_.narrow(0, 0, n).to(means.options()).t());
    if (input.is_training)
      log_p = log_p + GumbelNoise(input.weight_dropout, means.size(1), n, n, means.device())
                          .to(log_p.options());
    const at::Tensor never = admitted.logical_not().unsqueeze(1);
    log_p = (log_p / temperature_).masked_fill(never, kNever);
    for (int64_t i = 0; i < (input.causal ? 1 : iterations_); ++i) {
      log_p = (log_p - log_p.logsumexp({3}, true)).masked_fill(never, kNever);
      if (!input.causal) log_p = (log_p - log_p.logsumexp({2}, true)).masked_fill(never, kNever);
    }
    const at::Tensor largest = log_p.detach().amax(3, true);
    const at::Tensor weights = at::exp(log_p - largest).masked_fill(never, 0);
    return {log_p, weights, weights.sum(3, true) * at::exp(largest)};
  }

  // --- for the oracle ---

  // One row of P: the blocks that take part and their weights [H, blocks]. Without blocks there is
  // no mixture.
  struct Row {
    std::vector<int64_t> blocks;
    at::Tensor weights;
  };

  static at::Tensor Index(const std::vector<int64_t>& places, const at::Tensor& like) {
    return at::tensor(places, like.options().dtype(at::kLong));
  }

  // Returns the sorting logits of block n to the given blocks, divided by the temperature,
  // [H, blocks]. `mean` [H, D] is the mean key that stands for block n.
  at::Tensor Logits(const AttentionInput& input, int64_t b, int64_t all_blocks, int64_t n,
                    const at::Tensor& mean, const std::vector<int64_t>& blocks) const {
    const at::Tensor index = Index(blocks, mean);
    at::Tensor r = at::matmul(mean, sort_.to(mean.options()).index_select(0, index).t());
    if (input.is_training) {
      const at::Tensor noise =
          GumbelNoise(input.weight_dropout, mean.size(0), all_blocks, all_blocks);
      r = r + noise[b].select(1, n).to(r.options()).index_select(1, index);
    }
    return r / temperature_;
  }

  static at::Tensor MeanOf(const AttentionInput& input, int64_t b,
                           const std::vector<int64_t>& positions) {
    return input.k[b].index_select(1, Index(positions, input.k)).mean(1);
  }

  std::vector<Row> Rows(const AttentionInput& input, int64_t b,
                        const std::vector<std::vector<int64_t>>& kept) const {
    const auto all = static_cast<int64_t>(kept.size());
    std::vector<int64_t> real;
    for (int64_t n = 0; n < all; ++n)
      if (!kept[n].empty()) real.push_back(n);
    std::vector<Row> rows(all);
    if (real.empty()) return rows;
    std::vector<at::Tensor> logits;
    for (const int64_t n : real)
      logits.push_back(Logits(input, b, all, n, MeanOf(input, b, kept[n]), real));
    at::Tensor p = at::exp(at::stack(logits, 1));  // [H, real, real]
    for (int64_t i = 0; i < iterations_; ++i) {
      p = p / p.sum(2, true);
      p = p / p.sum(1, true);
    }
    for (size_t i = 0; i < real.size(); ++i)
      rows[real[i]] = {real, p.select(1, static_cast<int64_t>(i))};
    return rows;
  }

  std::vector<Row> CausalRows(const AttentionInput& input, int64_t b,
                              const std::vector<std::vector<int64_t>>& kept) const {
    const auto all = static_cast<int64_t>(kept.size());
    std::vector<Row> rows(all);
    std::vector<int64_t> earlier, blocks;
    for (int64_t n = 0; n < all; ++n) {
      if (!blocks.empty()) {
        const at::Tensor r = Logits(input, b, all, n, MeanOf(input, b, earlier), blocks);
        rows[n] = {blocks, at::softmax(r, 1)};
      }
      earlier.insert(earlier.end(), kept[n].begin(), kept[n].end());
      if (!kept[n].empty()) blocks.push_back(n);
    }
    return rows;
  }

  // Appends the keys and values [H, 1, D] that a row of P mixes: one for each place in a block at
  // which any of the row's blocks has a kept token.
  void AppendMixtures(const AttentionInput& input, int64_t b,
                      const std::vector<std::vector<int64_t>>& kept, const Row& row,
                      std::vector<at::Tensor>* k, std::vector<at::Tensor>* v) const {
    for (int64_t s = 0; s < block_; ++s) {
      std::vector<int64_t> columns, positions;
      for (size_t m = 0; m < row.blocks.size(); ++m) {
        for (const int64_t j : kept[row.blocks[m]]) {
          if (j % block_ != s) continue;
          columns.push_back(static_cast<int64_t>(m));
          positions.push_back(j);
        }
      }
      if (columns.empty()) continue;
      const at::Tensor p = row.weights.index_select(1, Index(columns, input.k));
      const at::Tensor scaled = p * (row.weights.sum(1, true) / p.sum(1, true)),
                       mixed = Index(positions, input.k);
      k->push_back(at::bmm(scaled.unsqueeze(1), input.k[b].index_select(1, mixed)));
      v->push_back(at::bmm(scaled.unsqueeze(1), input.v[b].index_select(1, mixed)));
    }
  }

  // Returns the outputs of the queries of block n, [H, tokens of block n, D].
  at::Tensor OracleBlock(const AttentionInput& input, int64_t b,
                         const std::vector<std::vector<int64_t>>& kept, const Row& row,
                         int64_t n) const {
    const at::Tensor own = Index(kept[n], input.k),
                     q = input.q[b].slice(1, n * block_, (n + 1) * block_);
    std::vector<at::Tensor> k = {input.k[b].index_select(1, own)},
                            v = {input.v[b].index_select(1, own)};
    AppendMixtures(input, b, kept, row, &k, &v);
    const at::Tensor logits =
        at::bmm(q, at::cat(k, 1).mT()) / std::sqrt(static_cast<double>(q.size(2)));
    at::Tensor masked = at::zeros({q.size(1), logits.size(2)}, at::kBool);
    if (input.causal) {
      for (int64_t i = 0; i < q.size(1); ++i) {
        for (size_t j = 0; j < kept[n].size(); ++j)
          if (kept[n][j] > n * block_ + i) masked[i][static_cast<int64_t>(j)] = true;
      }
    }
    masked = masked.to(q.device());
    const at::Tensor weights = at::softmax(logits.masked_fill(masked, -1e30), 2);
    return at::bmm(weights.masked_fill(masked, 0), at::cat(v, 1));
  }

  static constexpr double kNever = -1e30;  // finite: with -infinity, empty rows have NaN gradients

  const Traits traits_ = MakeTraits();
  const int64_t block_, iterations_;
  const double temperature_;
  const int64_t longest_tokens_;
  const at::Tensor sort_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeSinkhorn(const SinkhornOptions& options,
                                                        const AttentionContext& context) {
  const int64_t block = options.block_tokens();
  if (options.variant() == SinkhornOptions::LRA2020) return MakeLra2020Sinkhorn(block);
  if (context.max_length_tokens < 1)
    return absl::InvalidArgumentError("sinkhorn needs the longest sequence's length");
  const int64_t blocks = (context.max_length_tokens + block - 1) / block;
  return std::make_unique<Sinkhorn>(
      options, context.max_length_tokens,
      context.parameters->Create(context.scope + "sort.weight", {blocks, context.head_width},
                                 Initializer::XavierUniform()));
}

LRA_REGISTER_ATTENTION("sinkhorn", SinkhornOptions, MakeSinkhorn);

}  // namespace
}  // namespace lra
