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
#include "models/kernels/dispatch.h"
#include "models/kernels/gathered_rows.h"
#include "models/kernels/grouped_pattern.h"

namespace lra {
namespace {

using internal::ForEachTile;
using internal::GroupedGradients;
using internal::GroupedState;
using internal::kHiddenSum;
using internal::kTileWeights;
using internal::Pattern;
using internal::PatternTile;
using internal::SelfScore;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// q k^T of gathered rows [g, Lq, D] and [g, Lk, D], where q is already scaled; hidden pairs are
// kHiddenSum.
at::Tensor Scores(const PatternTile& tile, const at::Tensor& q, const at::Tensor& k) {
  at::Tensor scores = at::bmm(q, k.transpose(1, 2));
  const AttentionGroups& part = tile.part();
  const GroupTile positions = tile.Positions();
  if (part.self_pairs.defined()) scores.masked_fill_(tile.Places(part.self_pairs), SelfScore(part));
  if (part.bias) scores.add_(part.bias(positions).to(scores.scalar_type()));
  if (part.pairs.defined()) scores.masked_fill_(tile.Places(part.pairs).logical_not(), kHiddenSum);
  if (part.sees) scores.masked_fill_(part.sees(positions).logical_not(), kHiddenSum);
  const at::Tensor is_missing = positions.keys.lt(0);
  // A device would have to wait for the answer.
  if (!q.is_cpu() || is_missing.any().item<bool>()) scores.masked_fill_(is_missing, kHiddenSum);
  return scores;
}

template <class Use>
void ForEachTile(const at::Tensor& q, const Pattern& pattern, Use use) {
  const int64_t weights = q.is_cpu() ? kTileWeights : internal::kDeviceTileWeights;
  const auto size = [=](const AttentionGroups&, int64_t queries, int64_t keys) {
    return internal::SizeByWeights(weights, queries, keys);
  };
  internal::ForEachTile(q, pattern, size, use);
}

double Scale(const at::Tensor& q) { return 1 / std::sqrt(static_cast<double>(q.size(3))); }

// The softmax of a tile's scores [g, Lq, Lk] and the log-sum-exp of its rows [g, Lq, 1]. Rows
// without keys have kHiddenSum, and their weights mean nothing. exp() is avoided, because MKL's
// is slow far below zero.
struct TileSoftmax {
  explicit TileSoftmax(const at::Tensor& scores)
      : weights(at::softmax(scores, -1)), sums(scores.amax(-1, true)) {
    is_empty = sums.lt(kHiddenSum / 2);
    sums.sub_(weights.amax(-1, true).log_()).masked_fill_(is_empty, kHiddenSum);
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

// The output [B, H, N, Dv] and the log-sum-exp of the logits [B, H, N, 1], which is kHiddenSum
// without keys.
GroupedState Forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const Pattern& pattern) {
  const int64_t batch = q.size(0), heads = q.size(1), tokens = q.size(2);
  at::Tensor output = at::zeros({batch, heads, tokens, v.size(3)}, v.options());
  at::Tensor sums = at::full({batch, heads, tokens, 1}, kHiddenSum, q.options());
  ForEachTile(q, pattern, [&](const PatternTile& tile, size_t part) {
    const at::Tensor tile_q = GatherRows(q, tile.queries(), tile.first()).mul_(Scale(q));
    const at::Tensor tile_v = GatherRows(v, tile.keys(), tile.first());
    TileSoftmax softmax(Scores(tile, tile_q, GatherRows(k, tile.keys(), tile.first())));
    if (pattern.dropout.active()) softmax.weights.mul_(tile.Dropout().to(q.options()));
    at::Tensor rows = at::bmm(softmax.weights, tile_v).masked_fill_(softmax.is_empty, 0);
    if (part > 0) {
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

// With weights P, the dropout mask Z and delta = upstream . output:
//  dV = (P Z)^T upstream,   d(score) = P (Z (upstream V^T) - delta)
GroupedGradients Backward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const GroupedState& state, const at::Tensor& upstream,
                          const Pattern& pattern) {
  const auto zeros = [](const at::Tensor& t) { return at::zeros(t.sizes(), t.options()); };
  GroupedGradients out = {zeros(q), zeros(k), zeros(v)};
  ForEachTile(q, pattern, [&](const PatternTile& tile, size_t) {
    const int64_t first = tile.first();
    const auto of_queries = [&](const at::Tensor& t) {
      return GatherRows(t, tile.queries(), first);
    };
    const auto of_keys = [&](const at::Tensor& t) { return GatherRows(t, tile.keys(), first); };
    const at::Tensor tile_q = of_queries(q).mul_(Scale(q)), tile_k = of_keys(k),
                     tile_v = of_keys(v);
    const at::Tensor rows = of_queries(upstream);
    const at::Tensor delta = (rows * of_queries(state.output)).sum(-1, true);
    TileSoftmax softmax(Scores(tile, tile_q, tile_k));
    // share of the whole row's sum
    const at::Tensor share = (softmax.sums - of_queries(state.sums)).exp_();
    const at::Tensor weights = softmax.weights.mul_(share.masked_fill_(softmax.is_empty, 0));
    // becomes the gradient of the scores
    at::Tensor scores = at::bmm(rows, tile_v.transpose(1, 2));
    at::Tensor used = weights;
    if (pattern.dropout.active()) {
      const at::Tensor mask = tile.Dropout().to(q.options());
      scores.mul_(mask);
      used = weights * mask;
    }
    AddRows(at::bmm(used.transpose(1, 2), rows), tile.keys(), first, &out.v);
    scores.sub_(delta).mul_(weights);
    // That of q k^T, which constants do not have.
    const at::Tensor& self = tile.part().self_pairs;
    if (self.defined()) scores.masked_fill_(tile.Places(self), 0);
    AddRows(at::bmm(scores, tile_k).mul_(Scale(q)), tile.queries(), first, &out.q);
    AddRows(at::bmm(scores.transpose(1, 2), tile_q), tile.keys(), first, &out.k);
  });
  return out;
}

class GroupedAttentionFunction : public torch::autograd::Function<GroupedAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const c10::intrusive_ptr<Pattern>& pattern) {
    const bool is_tiled = DispatchKernel(KernelNeeds(), {q, k, v}) != KernelPath::kGeneric;
    const GroupedState state =
        (is_tiled ? internal::GroupedForwardTiled : Forward)(q, k, v, *pattern);
    context->save_for_backward({q, k, v, state.output});
    context->saved_data["sums"] = state.sums;
    context->saved_data["is_tiled"] = is_tiled;
    context->saved_data["pattern"] = c10::IValue::make_capsule(pattern);
    return state.output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto pattern =
        c10::static_intrusive_pointer_cast<Pattern>(context->saved_data["pattern"].toCapsule());
    const GroupedState state = {saved[3], context->saved_data["sums"].toTensor()};
    const bool is_tiled = context->saved_data["is_tiled"].toBool();
    const GroupedGradients out = (is_tiled ? internal::GroupedBackwardTiled : Backward)(
        saved[0], saved[1], saved[2], state, WithDenseRows(gradients[0]), *pattern);
    return {out.q, out.k, out.v, at::Tensor()};
  }
};

}  // namespace

at::Tensor GroupedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, std::vector<AttentionGroups> parts,
                            const DropoutKey& weight_dropout) {
  LRA_CHECK(q.dim() == 4 && q.sizes() == k.sizes() && v.dim() == 4 && k.size(2) == v.size(2));
  LRA_CHECK(HasIdsOf(weight_dropout, q.size(0)));
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
