// Softmax attention over sparse patterns, for local, sparse, Longformer, BigBird and LSH attention.
//
// A pattern is a list of parts. A part divides the queries into groups and says which keys the
// queries of a group see. A query sees the keys of all its parts under one softmax; a key that is
// named more than once counts as often. Only one tile of groups is in work at a time, and the
// backward computes its weights again, so memory is O(N D) and a few MB. Shapes: G groups of Lq
// queries and Lk keys.
#ifndef LRA_MODELS_KERNELS_GROUPED_ATTENTION_H_
#define LRA_MODELS_KERNELS_GROUPED_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "models/kernels/dropout.h"

namespace lra {

// The tokens start .. start + run_tokens - 1 for each start, one run after the other; positions
// before `first_token` or after the sequence are left out.
struct TokenRuns {
  at::Tensor starts;  // int64 [1 or B, 1 or H, 1 or G, runs]
  int64_t run_tokens = 1;
  int64_t first_token = 0;
};
constexpr int64_t kNoRun = std::numeric_limits<int64_t>::min() / 4;  // the start of an empty run

// Some groups at once, for which pairs are decided. -1 means no position.
struct GroupTile {
  at::Tensor queries;  // [G, Lq, 1]
  at::Tensor keys;     // [G, 1, Lk], without masked ones
  at::Tensor tables;   // [G]: example * H + head
};

struct AttentionGroups {
  TokenRuns queries;  // no query occurs twice
  TokenRuns keys;
  // bool [Lq, Lk] over the places of a group.
  at::Tensor pairs;               // which pairs see each other; undefined = all
  at::Tensor self_pairs;          // pairs whose logit is the constant kSelfLogit; undefined = none
  bool hides_self_pairs = false;  // those do not see each other instead, at no cost
  // Must be broadcastable to [G, Lq, Lk]; unset = no further condition or bias.
  std::function<at::Tensor(const GroupTile&)> sees;  // bool, in addition to pairs
  std::function<at::Tensor(const GroupTile&)> bias;  // a constant that is added to logits
};
// A token attends to itself only if it sees no other (Reformer).
constexpr double kSelfLogit = -1e5;

// q, k [B, H, N, D], v [B, H, N, Dv], keep [B, N] bool or undefined -> [B, H, N, Dv]:
// softmax(q k^T / sqrt(D)) v over the pairs of the parts with kept keys, times WeightDropoutMask().
// Differentiable once. NaN in masked keys and values has no effect; rows without keys are 0 with
// zero gradient. float32 on the CPU is computed in vector registers, tile by tile; everything else
// by ATen's operations on gathered rows.
at::Tensor GroupedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, std::vector<AttentionGroups> parts,
                            const DropoutKey& weight_dropout);

// Blocks of b tokens, with starts 0, b, ... as [1, 1, ceil(N / b), 1].
TokenRuns Blocks(int64_t tokens, int64_t block_tokens, at::Device device);

// The whole sequence as one run.
TokenRuns AllTokens(int64_t tokens, at::Device device);

// The keys i - before .. i + after of each query i, in blocks of up to 64 queries.
AttentionGroups Window(int64_t tokens, int64_t before, int64_t after, at::Device device);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_GROUPED_ATTENTION_H_
