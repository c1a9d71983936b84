// Softmax attention over sparse patterns: local, sparse, Longformer, BigBird and LSH attention.
//
// A pattern is a list of parts. A part cuts the queries into groups and says which keys the queries
// of a group see; a query sees the keys of all its parts under one softmax, a key as often as it is
// named. Only one tile of groups is worked on at a time, and the backward computes its weights
// anew: memory O(N D) and a few MB. Shapes: G groups of Lq queries and Lk keys.
#ifndef LRA_MODELS_KERNELS_GROUPED_ATTENTION_H_
#define LRA_MODELS_KERNELS_GROUPED_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "models/kernels/dropout.h"

namespace lra {

// Tokens start .. start + run_tokens - 1 for each start, one after another; those outside the
// sequence are none.
struct TokenRuns {
  at::Tensor starts;  // int64 [1 or B, 1 or H, 1 or G, runs]
  int64_t run_tokens = 1;
};
constexpr int64_t kNoRun = std::numeric_limits<int64_t>::min() / 4;  // a start of nothing

// Some groups at once, to decide upon their pairs. -1 = none.
struct GroupTile {
  at::Tensor queries;  // [G, Lq, 1]
  at::Tensor keys;     // [G, 1, Lk], without masked ones
  at::Tensor tables;   // [G]: example * H + head
};

struct AttentionGroups {
  TokenRuns queries;  // none twice
  TokenRuns keys;
  // bool [Lq, Lk] over the places of a group.
  at::Tensor pairs;       // which see each other; undefined = all
  at::Tensor self_pairs;  // whose logit is the constant kSelfLogit; undefined = none
  // Broadcastable to [G, Lq, Lk]; unset = as if not there.
  std::function<at::Tensor(const GroupTile&)> sees;  // bool, on top of pairs
  std::function<at::Tensor(const GroupTile&)> bias;  // added to logits, a constant
};
// A token sees itself only for want of others (Reformer).
constexpr double kSelfLogit = -1e5;

// q, k [B, H, N, D], v [B, H, N, Dv], keep [B, N] bool or undefined -> [B, H, N, Dv]:
// softmax(q k^T / sqrt(D)) v over the pairs of the parts with kept keys, times WeightDropoutMask().
// Differentiable once. NaN in masked keys and values has no effect; rows without keys are 0 with
// zero gradient.
at::Tensor GroupedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, std::vector<AttentionGroups> parts,
                            const DropoutKey& weight_dropout);

// Starts of blocks of b tokens: 0, b, .. as [1, 1, ceil(N / b), 1].
TokenRuns Blocks(int64_t tokens, int64_t block_tokens, at::Device device);

// The whole sequence as one run.
TokenRuns AllTokens(int64_t tokens, at::Device device);

// Keys i - before .. i + after of each query i, in blocks of up to 64 queries.
AttentionGroups Window(int64_t tokens, int64_t before, int64_t after, at::Device device);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_GROUPED_ATTENTION_H_
