// Softmax over chosen pairs of tokens: patterns of blocks are computed by cutting out blocks, other
// patterns by a mask over the whole matrix.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bench/measure/compositions.h"
#include "models/kernels/grouped_attention.h"

namespace lra {
namespace {

constexpr int64_t kBlock = 64;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

at::Tensor Scores(const at::Tensor& q, const at::Tensor& k) {
  return at::matmul(q / std::sqrt(double(kHeadWidth)), k.transpose(-1, -2));
}

// `pairs` is bool, broadcastable to [B, H, N, N].
at::Tensor Masked(const AttentionInput& in, at::Tensor pairs) {
  if (in.causal)
    pairs = pairs.logical_and(at::ones({in.q.size(2), in.k.size(2)}, at::kBool).tril());
  const at::Tensor scores = Scores(in.q, in.k).masked_fill(pairs.logical_not(), kMinusInfinity);
  return at::matmul(at::softmax(scores, -1), in.v);
}

at::Tensor Local(const Case& c) {
  const auto cut = [](const at::Tensor& t) { return t.unflatten(2, {-1, kBlock}); };
  at::Tensor scores = Scores(cut(c.input().q), cut(c.input().k));
  if (c.input().causal)
    scores = scores.masked_fill(at::ones({kBlock, kBlock}, at::kBool).triu(1), kMinusInfinity);
  return at::matmul(at::softmax(scores, -1), cut(c.input().v)).flatten(2, 3);
}

at::Tensor Longformer(const Case& c) {
  const AttentionInput& in = c.input();
  const int64_t n = c.tokens(), window = n >= 2048 ? 256 : 128;
  const at::Tensor j = at::arange(n);
  const at::Tensor local = Masked(in, (j - j.unsqueeze(1)).abs().le(window).logical_or(j == 0));
  // The first token attends to all tokens, through projections of its own.
  const auto project = [&](const at::Tensor& x, const char* name) {
    return at::linear(x, c.Owned(name)).unflatten(2, {kHeads, kHeadWidth}).transpose(1, 2);
  };
  const at::Tensor q = project(in.x.narrow(1, 0, 1), "global_query.weight");
  const at::Tensor weights = at::softmax(Scores(q, project(in.x, "global_key.weight")), -1);
  return at::cat(
      {at::matmul(weights, project(in.x, "global_value.weight")), local.narrow(2, 1, n - 1)}, 2);
}

at::Tensor Bigbird(const Case& c) {
  constexpr int64_t kRandomBlocks = 3;
  const int64_t blocks = c.tokens() / kBlock;
  const at::Tensor j = at::arange(blocks), i = j.unsqueeze(1);
  const auto is_edge = [&](const at::Tensor& b) { return (b == 0).logical_or(b == blocks - 1); };
  const at::Tensor fixed =
      is_edge(i).logical_or(is_edge(j)).logical_or((i - j).abs() <= 1);  // [blocks, blocks]
  const at::Tensor order =
      c.Owned("block_priorities").masked_fill(fixed, std::numeric_limits<float>::infinity());
  const auto [priority, random] =
      order.topk(std::min(kRandomBlocks, blocks), -1, /*largest=*/false);
  const at::Tensor drawn =
      at::zeros(order.sizes(), at::kBool).scatter(2, random, priority.isfinite());
  return Masked(c.input(),
                drawn.logical_or(fixed).repeat_interleave(kBlock, 1).repeat_interleave(kBlock, 2));
}

at::Tensor Sparse(const Case& c) {
  constexpr int64_t kSummaryTokens = 16;
  const at::Tensor j = at::arange(c.tokens()), block = j.floor_divide(kBlock);
  const at::Tensor is_summary = j.remainder(kBlock) >= kBlock - kSummaryTokens;
  return Masked(c.input(), (block == block.unsqueeze(1)).logical_or(is_summary));
}

// One round: the output [B, H, N, D] and the logarithm of the row sums [B, H, N, 1]. q equals k up
// to its norm.
std::pair<at::Tensor, at::Tensor> ReformerRound(const AttentionInput& in, const at::Tensor& k,
                                                const at::Tensor& rotation) {
  const int64_t n = in.q.size(2);
  const at::Tensor turned = at::matmul(in.q.detach(), rotation);
  const at::Tensor bucket = at::cat({turned, -turned}, -1).argmax(-1);
  const at::Tensor order = (bucket * n + at::arange(n)).argsort(int64_t{-1}, /*descending=*/false);
  const auto sorted = [&](const at::Tensor& t) {
    return t.gather(2, order.unsqueeze(-1).expand_as(t)).unflatten(2, {-1, kBlock});
  };
  const auto with_previous = [](const at::Tensor& chunks) {
    const at::Tensor before = at::constant_pad_nd(chunks.slice(2, 0, -1), {0, 0, 0, 0, 1, 0});
    return at::cat({before, chunks}, 3);
  };
  const at::Tensor self = at::eye(kBlock, at::kBool);
  at::Tensor scores = Scores(sorted(in.q), with_previous(sorted(k)))
                          .masked_fill(at::cat({at::zeros_like(self), self}, 1), kSelfLogit);
  const at::Tensor chunk = at::arange(n / kBlock).view({-1, 1, 1}), place = at::arange(2 * kBlock);
  scores = scores.masked_fill((chunk == 0).logical_and(place < kBlock), kMinusInfinity);
  const at::Tensor sums = scores.logsumexp(-1, true);
  const at::Tensor output = at::matmul((scores - sums).exp(), with_previous(sorted(in.v)));
  const at::Tensor back = order.argsort(int64_t{-1}, /*descending=*/false).unsqueeze(-1);
  const auto unsorted = [&](const at::Tensor& t) {
    const at::Tensor flat = t.flatten(2, 3);
    return flat.gather(2, back.expand_as(flat));
  };
  return {unsorted(output), unsorted(sums)};
}

at::Tensor Reformer(const Case& c) {
  const AttentionInput& in = c.input();
  const at::Tensor k = in.q / in.q.norm(2, -1, true).clamp_min(1e-6);
  std::vector<at::Tensor> outputs, sums;
  for (const at::Tensor& rotation : c.Owned("rotations").unbind()) {
    const auto [output, sum] = ReformerRound(in, k, rotation);
    outputs.push_back(output);
    sums.push_back(sum);
  }
  return (at::stack(outputs) * at::softmax(at::stack(sums), 0)).sum(0);
}

// Chunks begin anew in each bucket, so no borders can be cut along: the number of rounds in which a
// query sees a key is made for all pairs.
at::Tensor CausalReformer(const Case& c) {
  const AttentionInput& in = c.input();
  const at::Tensor k = in.q / in.q.norm(2, -1, true).clamp_min(1e-6);
  at::Tensor counts;  // [B, H, N, N]
  for (const at::Tensor& rotation : c.Owned("rotations").unbind()) {
    const at::Tensor turned = at::matmul(in.q.detach(), rotation);
    const at::Tensor bucket = at::cat({turned, -turned}, -1).argmax(-1);
    const at::Tensor same = bucket.unsqueeze(3).eq(bucket.unsqueeze(2)).tril();
    const at::Tensor chunk = (same.sum(-1) - 1).floor_divide(kBlock);
    const at::Tensor back = chunk.unsqueeze(3) - chunk.unsqueeze(2);
    const at::Tensor seen = same.logical_and(back <= 1).to(at::kFloat);
    counts = counts.defined() ? counts + seen : seen;
  }
  const at::Tensor self = at::eye(c.tokens(), at::kBool);
  const at::Tensor scores = Scores(in.q, k).masked_fill(self, kSelfLogit) + counts.log();
  return at::matmul(at::softmax(scores, -1), in.v);
}

}  // namespace

const std::map<std::string, Composition>& PatternCompositions() {
  static const auto& all = *new std::map<std::string, Composition>{
      {"local", {"blocks: matmul, softmax, matmul", Local, 1}},
      {"longformer", {"masked softmax", Longformer, 2}},
      {"bigbird", {"masked softmax", Bigbird, 2}},
      {"sparse", {"masked softmax", Sparse, 2}},
      {"reformer", {"gathered chunks", Reformer, 1}},
      {"reformer, causal", {"masked softmax", CausalReformer, 2}},
  };
  return all;
}

}  // namespace lra
