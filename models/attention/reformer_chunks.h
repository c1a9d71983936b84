// The chunks of causal LSH attention (reformer.cc), which begin anew in each bucket. The rank of a
// token is the number of earlier kept tokens in its bucket; it is in chunk floor(rank / C) of the
// bucket. So no later token moves it.
#ifndef LRA_MODELS_ATTENTION_REFORMER_CHUNKS_H_
#define LRA_MODELS_ATTENTION_REFORMER_CHUNKS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kernels/grouped_attention.h"

namespace lra {

// The numbers of the tokens' chunks, of any shape. Those of two buckets lie far apart: the number
// of a query less that of a key is 0 or 1 only where the key is in the chunk of the query, or in
// the one before it in the same bucket.
at::Tensor ChunkNumbers(const at::Tensor& buckets, const at::Tensor& ranks, int64_t chunk_tokens);
// The buckets from the numbers.
at::Tensor BucketsOfChunks(const at::Tensor& numbers);

// One round of hashing.
class BucketChunks {
 public:
  // bucket [B, H, N] is below `buckets`, and `buckets` itself at padded tokens, which are in no
  // chunk. order [B, H, N] has the positions of the tokens, sorted by (bucket, position).
  BucketChunks(const at::Tensor& bucket, const at::Tensor& order, int64_t buckets,
               int64_t chunk_tokens);

  // The queries of a chunk, and as keys the tokens up to each in the chunk and in the one before.
  AttentionGroups Groups() const;
  // ChunkNumbers() of each token, [B, H, N]; of padded ones any.
  at::Tensor OfTokens() const;

 private:
  const int64_t buckets_, chunk_tokens_;
  const at::Tensor order_, sorted_;  // sorted_: the buckets in this order
  const at::Tensor rank_;            // in this order
};

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_REFORMER_CHUNKS_H_
