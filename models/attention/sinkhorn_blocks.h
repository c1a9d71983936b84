// Sequences cut into blocks, for the variants of sinkhorn.
#ifndef LRA_MODELS_ATTENTION_SINKHORN_BLOCKS_H_
#define LRA_MODELS_ATTENTION_SINKHORN_BLOCKS_H_

#include <memory>

#include "models/interface/attention.h"

namespace lra {

// q, k, v and keep in n = ceil(N / b) blocks. Masked keys and values, and the positions that fill
// the last block, are 0. There are as many queries as keys.
struct SinkhornBlocks {
  SinkhornBlocks(const AttentionInput& input, int64_t block_tokens);

  at::Tensor q, k, v;  // [B, H, n, b, D]
  at::Tensor keep;     // [B, n, b]
  bool is_full;        // whether all tokens are kept and nothing was filled up
};

// What google-research/long-range-arena computes under this name (sinkhorn_lra2020.cc).
std::unique_ptr<Attention> MakeLra2020Sinkhorn(int64_t block_tokens);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_SINKHORN_BLOCKS_H_
