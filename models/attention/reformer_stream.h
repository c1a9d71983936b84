// Streaming for causal LSH attention (reformer.cc): a cache of the keys that later queries may
// still see in some round.
#ifndef LRA_MODELS_ATTENTION_REFORMER_STREAM_H_
#define LRA_MODELS_ATTENTION_REFORMER_STREAM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/interface/attention.h"

namespace lra {

struct HashedStream {
  int64_t heads, head_width, rounds, buckets, chunk_tokens;
  bool is_deduplicated;
};

// The tokens of a piece; R rounds.
struct HashedPiece {
  at::Tensor q, k, v;  // [B, H, T, D]; q and k finite at padded tokens
  at::Tensor keep;     // [B, T] or undefined
  at::Tensor buckets;  // int64 [R, B, H, T], below the number of buckets at padded tokens, too
};

// Attention::InitState() and Extend(). The state's tensors are k, v [B, H, K, D], keep [B, K],
// ChunkNumbers() [R, B, H, K], and how many kept tokens each bucket has had, [R, B, H, buckets].
// A token is forgotten when no later one can see it in any round, head and example. This bounds K,
// but so many buckets as there are chunks in the longest sequence leave little to forget.
AttentionState InitHashedState(const HashedStream& stream, int64_t batch,
                               const at::TensorOptions& options);
at::Tensor ExtendHashed(const HashedStream& stream, const HashedPiece& piece,
                        AttentionState* state);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_REFORMER_STREAM_H_
