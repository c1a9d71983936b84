#include "models/kernels/grouped_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "lra/check.h"
#include "models/kernels/gathered_rows.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Used instead of -infinity, whose differences are NaN. exp(kHiddenScore - x) is 0 for any logit x.
constexpr double kHiddenScore = -1e30;
// The number of weights in a tile: few enough for the last cache, many enough for all threads.
constexpr int64_t kTileWeights = int64_t{1} << 19;

struct Pattern : torch::CustomClassHolder {
  std::vector<AttentionGroups> parts;
  at::Tensor keep;
  DropoutKey dropout;
};

// Consecutive groups of a part, and a range of query places in them.
struct Range {
  int64_t first_group, groups, first_query, queries;
};

class Tile {
 public:
  Tile(const at::Tensor& q, const Pattern& pattern, const AttentionGroups& part, const Range& range)
      : pattern_(pattern), part_(part), range_(range), heads_(q.size(1)) {
    const int64_t tables = q.size(0) * heads_;
    const at::Tensor number = at::arange(range.first_group, range.first_group + range.groups,
                                         q.options().dtype(at::kLong));
    group_ = number.floor_divide(tables);
    table_ = number.remainder(tables);
    queries_ = Positions(part.queries, q.size(2)).narrow(1, range.first_query, range.queries);
    keys_ = Positions(part.keys, q.size(2));
    if (pattern.keep.defined()) DropMaskedKeys(q.size(2));
    are_keys_full_ = keys_.ge(0).all().item<bool>();
  }

  const at::Tensor& queries() const { return queries_; }
  const at::Tensor& keys() const { return keys_; }
  int64_t first() const { return range_.first_group; }

  // q k^T of gathered rows [g, Lq, D] and [g, Lk, D], where q is already scaled; hidden pairs are
  // kHiddenScore.
  at::Tensor Scores(const at::Tensor& q, const at::Tensor& k) const {
    at::Tensor scores = at::bmm(q, k.transpose(1, 2));
    const GroupTile tile = {queries_.unsqueeze(2), keys_.unsqueeze(1), table_};
    if (part_.self_pairs.defined()) scores.masked_fill_(Places(part_.self_pairs), kSelfLogit);
    if (part_.bias) scores.add_(part_.bias(tile).to(scores.scalar_type()));
    if (part_.pairs.defined()) scores.masked_fill_(Places(part_.pairs).logical_not(), kHiddenScore);
    if (part_.sees) scores.masked_fill_(part_.sees(tile).logical_not(), kHiddenScore);
    if (!are_keys_full_) scores.masked_fill_(tile.keys.lt(0), kHiddenScore);
    return scores;
  }

  // Computes the gradient of q k^T from that of the scores.
  void ToProducts(at::Tensor* gradient) const {
    if (part_.self_pairs.defined()) gradient->masked_fill_(Places(part_.self_pairs), 0);
  }

  at::Tensor Dropout(const at::Tensor& like) const {
    return GatherWeightDropout(pattern_.dropout, heads_, queries_, keys_, first())
        .to(like.options());
  }

 private:
  at::Tensor Places(const at::Tensor& pairs) const {
    return pairs.narrow(0, range_.first_query, range_.queries);
  }

  at::Tensor Positions(const TokenRuns& runs, int64_t tokens) const {
    const at::Tensor& starts = runs.starts;
    const auto index = [&](const at::Tensor& number, int64_t dim) {
      return starts.size(dim) == 1 ? at::zeros_like(number) : number;
    };
    const at::Tensor row = (index(table_.floor_divide(heads_), 0) * starts.size(1) +
                            index(table_.remainder(heads_), 1)) *
                               starts.size(2) +
                           index(group_, 2);
    at::Tensor place = starts.reshape({-1, starts.size(3)}).index_select(0, row);
    if (runs.run_tokens > 1) {
      place = (place.unsqueeze(2) + at::arange(runs.run_tokens, place.options())).flatten(1);
    }
    return place.masked_fill_(place.lt(0).logical_or(place.ge(tokens)), -1);
  }

  void DropMaskedKeys(int64_t tokens) {
    const at::Tensor row = (table_.floor_divide(heads_) * tokens).unsqueeze(1) + keys_.clamp_min(0);
    const at::Tensor kept = pattern_.keep.reshape({-1}).index_select(0, row.flatten());
    keys_.masked_fill_(kept.view_as(keys_).logical_not(), -1);
  }

  const Pattern& pattern_;
  const AttentionGroups& part_;
  const Range range_;
  const int64_t heads_;
  at::Tensor group_, table_, queries_, keys_;
  bool are_keys_full_ = false;
};

int64_t Groups(const AttentionGroups& part) {
  return std::max(part.queries.starts.size(2), part.keys.starts.size(2));
}

int64_t Length(const TokenRuns& runs) { return runs.starts.size(3) * runs.run_tokens; }

// Calls use(tile, whether its part is the first).
template <class Use>
void ForEachTile(const at::Tensor& q, const Pattern& pattern, Use use) {
  for (size_t p = 0; p < pattern.parts.size(); ++p) {
    const AttentionGroups& part = pattern.parts[p];
    const int64_t queries = Length(part.queries), keys = Length(part.keys);
    if (queries == 0 || keys == 0) continue;
    const int64_t total = Groups(part) * q.size(0) * q.size(1);
    const int64_t step = std::clamp<int64_t>(kTileWeights / (queries * keys), 1, total);
    const int64_t query_step =
        step > 1 ? queries : std::clamp<int64_t>(kTileWeights / keys, 1, queries);
    for (int64_t group = 0; group < total; group += step) {
      for (int64_t query = 0; query < queries; query += query_step) {
        use(Tile(q, pattern, part,
                 {group, std::min(step, total - group), query,
                  std::min(query_step, queries - query)}),
            p == 0);
      }
    }
  }
}

double Scale(const at::Tensor& q) { return 1 / std::sqrt(static_cast<double>(q.size(3))); }

// The softmax of a tile's scores [g, Lq, Lk] and the log-sum-exp of its rows [g, Lq, 1]. Rows
// without keys have kHiddenScore, and their weights mean nothing. exp() is avoided, because MKL's
// is slow far below zero.
struct TileSoftmax {
  explicit TileSoftmax(const at::Tensor& scores)
      : weights(at::softmax(scores, -1)), sums(scores.amax(-1, true)) {
    is_empty = sums.lt(kHiddenScore / 2);
    sums.sub_(weights.amax(-1, true).log_()).masked_fill_(is_empty, kHiddenScore);
  }
  at::Tensor weights, sums, is_empty;
};

// Joins two softmaxes over disjoint keys: rows [g, L, D] with their log-sum-exps [g, L, 1].
void Join(const at::Tensor& other_rows, const at::Tensor& other_sums, at::Tensor* rows,
          at::Tensor* sums) {
  const at::Tensor most = at::maximum(*sums, other_sums);
  const at::Tensor a = at::exp(*sums - most), b = at::exp(other_sums - most);
  const at::Tensor total = a + b;
  *rows = (*rows * a + other_rows * b) / total;
  *sums = most + total.log();
}

// The output [B, H, N, Dv] and the log-sum-exp of the logits [B, H, N, 1], which is kHiddenScore
// without keys.
std::pair<at::Tensor, at::Tensor> Forward(const at::Tensor& q, const at::Tensor& k,
                                          const at::Tensor& v, const Pattern& pattern) {
  const int64_t batch = q.size(0), heads = q.size(1), tokens = q.size(2);
  at::Tensor output = at::zeros({batch, heads, tokens, v.size(3)}, v.options());
  at::Tensor sums = at::full({batch, heads, tokens, 1}, kHiddenScore, q.options());
  ForEachTile(q, pattern, [&](const Tile& tile, bool is_first) {
    const at::Tensor tile_q = GatherRows(q, tile.queries(), tile.first()).mul_(Scale(q));
    const at::Tensor tile_v = GatherRows(v, tile.keys(), tile.first());
    TileSoftmax softmax(tile.Scores(tile_q, GatherRows(k, tile.keys(), tile.first())));
    if (pattern.dropout.active()) softmax.weights.mul_(tile.Dropout(softmax.weights));
    at::Tensor rows = at::bmm(softmax.weights, tile_v).masked_fill_(softmax.is_empty, 0);
    if (!is_first) {
      Join(GatherRows(output, tile.queries(), tile.first()),
           GatherRows(sums, tile.queries(), tile.first()), &rows, &softmax.sums);
    }
    SetRows(rows, tile.queries(), tile.first(), &output);
    SetRows(softmax.sums, tile.queries(), tile.first(), &sums);
  });
  return {output, sums};
}

// Makes the rows dense, once for all tiles.
at::Tensor WithDenseRows(const at::Tensor& t) { return t.stride(3) == 1 ? t : t.contiguous(); }

struct GroupGradients {
  at::Tensor dq, dk, dv;
};

// With weights P, the dropout mask Z and delta = upstream . output:
//  dV = (P Z)^T upstream,   d(score) = P (Z (upstream V^T) - delta)
GroupGradients Backward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const at::Tensor& output, const at::Tensor& sums,
                        const at::Tensor& upstream, const Pattern& pattern) {
  const auto zeros = [](const at::Tensor& t) { return at::zeros(t.sizes(), t.options()); };
  GroupGradients out = {zeros(q), zeros(k), zeros(v)};
  ForEachTile(q, pattern, [&](const Tile& tile, bool) {
    const int64_t first = tile.first();
    const auto of_queries = [&](const at::Tensor& t) {
      return GatherRows(t, tile.queries(), first);
    };
    const auto of_keys = [&](const at::Tensor& t) { return GatherRows(t, tile.keys(), first); };
    const at::Tensor tile_q = of_queries(q).mul_(Scale(q)), tile_k = of_keys(k),
                     tile_v = of_keys(v);
    const at::Tensor rows = of_queries(upstream);
    const at::Tensor delta = (rows * of_queries(output)).sum(-1, true);
    TileSoftmax softmax(tile.Scores(tile_q, tile_k));
    // share of the whole row's sum
    const at::Tensor share = (softmax.sums - of_queries(sums)).exp_();
    const at::Tensor weights = softmax.weights.mul_(share.masked_fill_(softmax.is_empty, 0));
    // becomes the gradient of the scores
    at::Tensor scores = at::bmm(rows, tile_v.transpose(1, 2));
    at::Tensor used = weights;
    if (pattern.dropout.active()) {
      const at::Tensor mask = tile.Dropout(weights);
      scores.mul_(mask);
      used = weights * mask;
    }
    AddRows(at::bmm(used.transpose(1, 2), rows), tile.keys(), first, &out.dv);
    scores.sub_(delta).mul_(weights);
    tile.ToProducts(&scores);
    AddRows(at::bmm(scores, tile_k).mul_(Scale(q)), tile.queries(), first, &out.dq);
    AddRows(at::bmm(scores.transpose(1, 2), tile_q), tile.keys(), first, &out.dk);
  });
  return out;
}

class GroupedAttentionFunction : public torch::autograd::Function<GroupedAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const c10::intrusive_ptr<Pattern>& pattern) {
    auto [output, sums] = Forward(q, k, v, *pattern);
    context->save_for_backward({q, k, v, output});
    context->saved_data["sums"] = sums;
    context->saved_data["pattern"] = c10::IValue::make_capsule(pattern);
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto pattern =
        c10::static_intrusive_pointer_cast<Pattern>(context->saved_data["pattern"].toCapsule());
    const GroupGradients out =
        Backward(saved[0], saved[1], saved[2], saved[3], context->saved_data["sums"].toTensor(),
                 WithDenseRows(gradients[0]), *pattern);
    return {out.dq, out.dk, out.dv, at::Tensor()};
  }
};

}  // namespace

at::Tensor GroupedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, std::vector<AttentionGroups> parts,
                            const DropoutKey& weight_dropout) {
  LRA_CHECK(q.dim() == 4 && q.sizes() == k.sizes() && v.dim() == 4 && k.size(2) == v.size(2));
  auto pattern = c10::make_intrusive<Pattern>();
  pattern->parts = std::move(parts);
  for (AttentionGroups& part : pattern->parts) {
    part.queries.starts = part.queries.starts.contiguous();
    part.keys.starts = part.keys.starts.contiguous();
  }
  if (keep.defined()) pattern->keep = keep.contiguous();
  pattern->dropout = weight_dropout;
  return GroupedAttentionFunction::apply(WithDenseRows(q), WithDenseRows(k), WithDenseRows(v),
                                         pattern);
}

TokenRuns Blocks(int64_t tokens, int64_t block_tokens, at::Device device) {
  const auto options = at::TensorOptions(at::kLong).device(device);
  return {at::arange(0, tokens, block_tokens, options).view({1, 1, -1, 1}), block_tokens};
}

TokenRuns AllTokens(int64_t tokens, at::Device device) {
  return {at::zeros({1, 1, 1, 1}, at::TensorOptions(at::kLong).device(device)), tokens};
}

AttentionGroups Window(int64_t tokens, int64_t before, int64_t after, at::Device device) {
  // Larger blocks multiply faster; smaller ones gather fewer keys that only some of the queries
  // see.
  const int64_t block = std::min(tokens, std::clamp<int64_t>(before + after, 16, 64));
  const int64_t first = std::min(before, tokens - 1), last = std::min(after, tokens - 1);
  AttentionGroups groups;
  groups.queries = Blocks(tokens, block, device);
  groups.keys = {groups.queries.starts - first, first + block + last};
  const auto options = groups.queries.starts.options();
  const at::Tensor distance =  // of key - query
      at::arange(-first, block + last, options) - at::arange(block, options).unsqueeze(1);
  groups.pairs = (distance >= -before).logical_and(distance <= after);
  return groups;
}

}  // namespace lra
