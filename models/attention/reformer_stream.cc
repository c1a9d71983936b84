#include "models/attention/reformer_stream.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/attention/reformer_chunks.h"
#include "models/kernels/grouped_attention.h"
#include "models/kernels/pattern_oracle.h"

namespace lra {
namespace {

// How many queries meet the cache together, and after how many tokens it is looked through for
// those to forget.
constexpr int64_t kHashedStepTokens = 64;

enum HashedCache { kHashedKeys, kHashedValues, kHashedKeep, kHashedChunks, kHashedCounts };

// The tokens start .. start + count - 1 of a piece, with a mask.
HashedPiece StepOf(const HashedPiece& piece, int64_t start, int64_t count) {
  const at::Tensor keep =
      piece.keep.defined() ? piece.keep.narrow(1, start, count)
                           : at::ones({piece.q.size(0), count}, piece.q.options().dtype(at::kBool));
  return {piece.q.narrow(2, start, count), piece.k.narrow(2, start, count),
          piece.v.narrow(2, start, count), keep, piece.buckets.narrow(3, start, count)};
}

// Ranks count the kept tokens of the bucket: those that were there, and the earlier ones of the
// step.
void AddToCache(const HashedPiece& step, int64_t chunk_tokens, std::vector<at::Tensor>* cache) {
  const at::Tensor keep = step.keep.unsqueeze(0).unsqueeze(2);  // [1, B, 1, T]
  const at::Tensor same = step.buckets.unsqueeze(4).eq(step.buckets.unsqueeze(3));
  const at::Tensor earlier = same.logical_and(keep.unsqueeze(3)).tril(-1).sum(-1);  // [R, B, H, T]
  const at::Tensor counts = (*cache)[kHashedCounts];
  const at::Tensor ranks = counts.gather(3, step.buckets) + earlier;
  const at::Tensor numbers = ChunkNumbers(step.buckets, ranks, chunk_tokens);
  *cache = {at::cat({(*cache)[kHashedKeys], step.k}, 2),
            at::cat({(*cache)[kHashedValues], step.v}, 2),
            at::cat({(*cache)[kHashedKeep], step.keep}, 1),
            at::cat({(*cache)[kHashedChunks], numbers}, 3),
            counts.scatter_add(3, step.buckets, keep.to(at::kLong).expand_as(step.buckets))};
}

// [B, H, T, K]: the number of rounds in which each of the last T tokens sees each key.
at::Tensor SeenRounds(const at::Tensor& chunks, int64_t tokens) {
  const int64_t keys = chunks.size(3);
  at::Tensor seen;
  for (int64_t r = 0; r < chunks.size(0); ++r) {
    const at::Tensor of_keys = chunks[r];
    const at::Tensor back =
        of_keys.narrow(2, keys - tokens, tokens).unsqueeze(3) - of_keys.unsqueeze(2);
    const at::Tensor here = back.eq(0).logical_or(back.eq(1)).to(at::kLong);
    seen = seen.defined() ? seen + here : here;
  }
  return seen.tril(keys - tokens);
}

// The outputs of the last tokens of the cache, whose queries are q [B, H, T, D].
at::Tensor AttendToCache(const at::Tensor& q, const std::vector<at::Tensor>& cache,
                         bool is_deduplicated) {
  const int64_t tokens = q.size(2), earlier = cache[kHashedKeys].size(2) - tokens;
  const at::Tensor seen = SeenRounds(cache[kHashedChunks], tokens);
  const at::Tensor self =
      at::constant_pad_nd(at::eye(tokens, q.options().dtype(at::kBool)), {earlier, 0});
  at::Tensor logits = at::matmul(q, cache[kHashedKeys].transpose(-1, -2)) /
                      std::sqrt(static_cast<double>(q.size(3)));
  logits.masked_fill_(self, kSelfLogit);
  if (!is_deduplicated) logits.add_(seen.clamp_min(1).to(logits.options()).log());
  return DenseMaskedSoftmax(logits, cache[kHashedValues], cache[kHashedKeep], seen > 0,
                            DropoutKey());
}

// The next token of a bucket is the only one that decides, since later ones look back no further.
void Forget(int64_t chunk_tokens, std::vector<at::Tensor>* cache) {
  const at::Tensor chunks = (*cache)[kHashedChunks], counts = (*cache)[kHashedCounts];
  const at::Tensor buckets = BucketsOfChunks(chunks);
  const at::Tensor next = ChunkNumbers(buckets, counts.gather(3, buckets), chunk_tokens);
  const at::Tensor is_seen = next - chunks <= 1;  // [R, B, H, K]
  const at::Tensor stays = is_seen.flatten(0, 2).any(0).nonzero().flatten();
  if (stays.size(0) == chunks.size(3)) return;
  *cache = {(*cache)[kHashedKeys].index_select(2, stays),
            (*cache)[kHashedValues].index_select(2, stays),
            (*cache)[kHashedKeep].index_select(1, stays), chunks.index_select(3, stays), counts};
}

}  // namespace

AttentionState InitHashedState(const HashedStream& stream, int64_t batch,
                               const at::TensorOptions& options) {
  const at::Tensor none = at::empty({batch, stream.heads, 0, stream.head_width}, options);
  const auto numbers = options.dtype(at::kLong);
  return {0,
          {none, none, at::empty({batch, 0}, options.dtype(at::kBool)),
           at::empty({stream.rounds, batch, stream.heads, 0}, numbers),
           at::zeros({stream.rounds, batch, stream.heads, stream.buckets}, numbers)}};
}

at::Tensor ExtendHashed(const HashedStream& stream, const HashedPiece& piece,
                        AttentionState* state) {
  const at::NoGradGuard no_grad;
  const int64_t tokens = piece.q.size(2);
  std::vector<at::Tensor> outputs;
  for (int64_t start = 0; start < tokens; start += kHashedStepTokens) {
    const HashedPiece step = StepOf(piece, start, std::min(kHashedStepTokens, tokens - start));
    AddToCache(step, stream.chunk_tokens, &state->tensors);
    outputs.push_back(AttendToCache(step.q, state->tensors, stream.is_deduplicated));
    const int64_t next = state->tokens + step.q.size(2);
    if (next / kHashedStepTokens != state->tokens / kHashedStepTokens)
      Forget(stream.chunk_tokens, &state->tensors);
    state->tokens = next;
  }
  return at::cat(outputs, 2);
}

}  // namespace lra
