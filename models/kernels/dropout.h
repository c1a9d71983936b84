// Counter-based dropout. Whether an element is kept depends only on (seed, step, site, example id,
// token, channel). So padding, batching, accumulation and threads change no mask. No mask is
// stored; the backward draws it again.
//
// Element (b, token, channel) has 16 bits of Philox4x32-10 under
//   key     = (seed, site << 8 | RandomDomain::kDropout)
//   counter = (channel / 8, token, low 32 bits of example_ids[b], step)
// (the (channel % 8)-th half word of the block, low half first; under a tied key with token 0 for
// every token) and is kept iff these bits >=
// round(65536 p); kept values are multiplied by 1 / (1 - round(65536 p) / 65536).
#ifndef LRA_MODELS_KERNELS_DROPOUT_H_
#define LRA_MODELS_KERNELS_DROPOUT_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace lra {

struct DropoutKey {
  double probability = 0;  // 0 = no dropout (evaluation); below 1
  uint32_t seed = 0;
  uint32_t step = 0;
  uint32_t site = 0;       // which place in the model, below 2^24 (models/layers/dropout_sites.h)
  at::Tensor example_ids;  // [B] int64, contiguous, on the CPU
  // One mask for all tokens of a channel; not for attention weights.
  bool is_tied = false;
  // The ids where masks are drawn on a device; undefined: copied there for each mask.
  at::Tensor ids_on_device = {};
  // Stands for `step` there, int64 [], where it is defined.
  at::Tensor step_on_device = {};

  bool active() const { return Threshold() > 0; }
  uint32_t Threshold() const { return static_cast<uint32_t>(probability * 65536.0 + 0.5); }
  float Scale() const { return 65536.0f / static_cast<float>(65536 - Threshold()); }
};

// Whether the key has the ids of so many examples: masks are drawn by rows of them, unchecked.
bool HasIdsOf(const DropoutKey& key, int64_t examples);

// mask * x for x [B, N, C] of any float type and device; differentiable.
at::Tensor Dropout(const at::Tensor& x, const DropoutKey& key);
// residual + mask * x in one pass; differentiable in both.
at::Tensor DropoutAdd(const at::Tensor& x, const at::Tensor& residual, const DropoutKey& key);

// The mask itself: float32 [B, N, C] of 0 and Scale().
at::Tensor DropoutMask(const DropoutKey& key, int64_t tokens, int64_t channels,
                       at::Device device = at::kCPU);
// The mask of attention weights, [B, H, N, Nk]: token = query, channel = key, and counter word 0
// also holds the head (head << 18 | key / 8).
at::Tensor WeightDropoutMask(const DropoutKey& key, int64_t heads, int64_t queries, int64_t keys,
                             at::Device device = at::kCPU);
// The block [B, H, queries, keys] of that mask that starts at (first_query, first_key); first_key
// must be a multiple of 8.
at::Tensor WeightDropoutBlock(const DropoutKey& key, int64_t heads, int64_t first_query,
                              int64_t queries, int64_t first_key, int64_t keys,
                              at::Device device = at::kCPU);

// --- For kernels that work on tiles of rows ---

// Row r of the flattened [B * N, C] is token r % tokens of example_ids[r / tokens].
struct DropoutRows {
  DropoutRows() = default;  // inactive: the scale is 1
  // Keeps a pointer to the data of key.example_ids.
  DropoutRows(const DropoutKey& key, int64_t tokens);

  const int64_t* example_ids = nullptr;
  int64_t tokens = 1;
  uint32_t seed = 0;
  uint32_t site_word = 0;
  uint32_t step = 0;
  uint32_t first_block = 0;   // added to channel / 8
  uint32_t token_bits = ~0u;  // of the token that count: none under a tied key
  uint32_t threshold = 0;
  float scale = 1;
};

// out = mask * x (+ residual unless null) for `rows` contiguous rows of `channels`, starting at row
// `first_row`. `out` may be x or residual. Runs on one thread.
void ApplyDropoutRows(const DropoutRows& mask, int64_t first_row, int64_t rows, int64_t channels,
                      const float* x, const float* residual, float* out);
// x = mask * x and y = mask * y, with one drawing.
void ApplyDropoutRowsToBoth(const DropoutRows& mask, int64_t first_row, int64_t rows,
                            int64_t channels, float* x, float* y);

// The random bits of attention weights for a tile of 8 keys by kDropoutTileQueries queries:
// bits[key][query] for the keys 8 key_block .. 8 key_block + 7 and the queries from first_query on,
// of one head of example number `example`. An element is kept if its bits >= mask.threshold. Runs
// on one thread.
constexpr int64_t kDropoutTileQueries = 48, kDropoutTileKeys = 8;
using DropoutTile = uint16_t[kDropoutTileKeys][kDropoutTileQueries];
void DrawWeightDropoutTile(const DropoutRows& mask, int64_t example, int64_t head,
                           int64_t first_query, int64_t key_block, DropoutTile bits);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_DROPOUT_H_
