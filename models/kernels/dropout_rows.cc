// The inner loops of dropout: Philox4x32-10 over lanes of blocks, as plain loops that GCC
// vectorises.
#include <algorithm>
#include <cstring>

#include "lra/random.h"
#include "models/kernels/dropout.h"
#include "models/kernels/simd.h"

namespace lra {
namespace {

constexpr int kLanes = 16;             // blocks drawn together
constexpr int kBlock = 8;              // elements of a block
constexpr int kRun = kLanes * kBlock;  // elements of a run

struct Counters {
  alignas(64) uint32_t block[kLanes], token[kLanes], example[kLanes];
};

// Walks over the (row, block) pairs of a tile in row-major order.
class BlockWalk {
 public:
  BlockWalk(const DropoutRows& mask, int64_t first_row, int64_t blocks_per_row)
      : mask_(mask),
        blocks_(static_cast<uint32_t>(blocks_per_row)),
        example_(first_row / mask.tokens),
        token_(static_cast<uint32_t>(first_row % mask.tokens)) {}

  // Lanes beyond the end of the tile repeat the last example; their bits are never used.
  LRA_ALWAYS_INLINE void Next(int64_t lanes, Counters* counters) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      counters->block[lane] = mask_.first_block + block_;
      counters->token[lane] = token_ & mask_.token_bits;
      counters->example[lane] = static_cast<uint32_t>(mask_.example_ids[example_]);
      if (++block_ < blocks_) continue;
      block_ = 0;
      if (++token_ < static_cast<uint32_t>(mask_.tokens)) continue;
      token_ = 0;
      ++example_;
    }
  }

 private:
  const DropoutRows& mask_;
  uint32_t blocks_;
  int64_t example_;
  uint32_t token_;
  uint32_t block_ = 0;
};

// Philox4x32-10 (Salmon et al. 2011); dropout_test.cc compares it with Random123. Words 0 to 3 of a
// block replace the counter.
inline LRA_ALWAYS_INLINE void Philox10(const DropoutRows& mask, uint32_t* c0, uint32_t* c1,
                                       uint32_t* c2, uint32_t* c3) {
  uint32_t k0 = mask.seed, k1 = mask.site_word;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * *c0;
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * *c2;
    *c0 = static_cast<uint32_t>(product1 >> 32) ^ *c1 ^ k0;
    *c1 = static_cast<uint32_t>(product1);
    *c2 = static_cast<uint32_t>(product0 >> 32) ^ *c3 ^ k1;
    *c3 = static_cast<uint32_t>(product0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

inline LRA_ALWAYS_INLINE void DrawLanes(const DropoutRows& mask, const Counters& counters,
                                        uint32_t* words) {
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t c0 = counters.block[lane], c1 = counters.token[lane], c2 = counters.example[lane];
    uint32_t c3 = mask.step;
    Philox10(mask, &c0, &c1, &c2, &c3);
    words[4 * lane] = c0;
    words[4 * lane + 1] = c1;
    words[4 * lane + 2] = c2;
    words[4 * lane + 3] = c3;
  }
}

// The queries are the lanes, so that the bits of one key lie side by side.
inline LRA_ALWAYS_INLINE void DrawTileBody(const DropoutRows& mask, uint32_t block,
                                           uint32_t example, uint32_t first_token, uint16_t* bits) {
  for (uint32_t lane = 0; lane < kDropoutTileQueries; ++lane) {
    uint32_t c0 = block, c1 = first_token + lane, c2 = example, c3 = mask.step;
    Philox10(mask, &c0, &c1, &c2, &c3);
    bits[lane] = static_cast<uint16_t>(c0);
    bits[kDropoutTileQueries + lane] = static_cast<uint16_t>(c0 >> 16);
    bits[2 * kDropoutTileQueries + lane] = static_cast<uint16_t>(c1);
    bits[3 * kDropoutTileQueries + lane] = static_cast<uint16_t>(c1 >> 16);
    bits[4 * kDropoutTileQueries + lane] = static_cast<uint16_t>(c2);
    bits[5 * kDropoutTileQueries + lane] = static_cast<uint16_t>(c2 >> 16);
    bits[6 * kDropoutTileQueries + lane] = static_cast<uint16_t>(c3);
    bits[7 * kDropoutTileQueries + lane] = static_cast<uint16_t>(c3 >> 16);
  }
}

inline LRA_ALWAYS_INLINE void Select(const uint16_t* bits, const DropoutRows& mask, const float* x,
                                     const float* residual, int64_t n, float* out) {
  const uint32_t threshold = mask.threshold;
  const float scale = mask.scale;
  if (residual == nullptr) {
    for (int64_t i = 0; i < n; ++i) out[i] = bits[i] >= threshold ? x[i] * scale : 0.0f;
  } else {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = residual[i] + (bits[i] >= threshold ? x[i] * scale : 0.0f);
    }
  }
}

inline LRA_ALWAYS_INLINE void MaskedRowsBody(const DropoutRows& mask, int64_t first_row,
                                             int64_t rows, int64_t channels, const float* x,
                                             const float* residual, float* out) {
  const int64_t blocks_per_row = (channels + kBlock - 1) / kBlock;
  const int64_t blocks = rows * blocks_per_row;
  const bool is_dense = channels % kBlock == 0;
  Counters counters = {};
  alignas(64) uint32_t words[4 * kLanes];
  alignas(64) uint16_t bits[kRun];
  BlockWalk walk(mask, first_row, blocks_per_row);
  for (int64_t first = 0; first < blocks; first += kLanes) {
    const int64_t lanes = std::min<int64_t>(kLanes, blocks - first);
    walk.Next(lanes, &counters);
    DrawLanes(mask, counters, words);
    for (int i = 0; i < 4 * kLanes; ++i) {
      bits[2 * i] = static_cast<uint16_t>(words[i]);
      bits[2 * i + 1] = static_cast<uint16_t>(words[i] >> 16);
    }
    if (is_dense && lanes == kLanes) {
      const int64_t at = first * kBlock;
      Select(bits, mask, x + at, residual ? residual + at : nullptr, kRun, out + at);
      continue;
    }
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t channel = (first + lane) % blocks_per_row * kBlock;
      const int64_t at = (first + lane) / blocks_per_row * channels + channel;
      Select(bits + lane * kBlock, mask, x + at, residual ? residual + at : nullptr,
             std::min<int64_t>(kBlock, channels - channel), out + at);
    }
  }
}

LRA_MULTIVERSION(MaskedRows,
                 (const DropoutRows& mask, int64_t first_row, int64_t rows, int64_t channels,
                  const float* x, const float* residual, float* out),
                 (mask, first_row, rows, channels, x, residual, out))
LRA_MULTIVERSION(DrawTile,
                 (const DropoutRows& mask, uint32_t block, uint32_t example, uint32_t first_token,
                  uint16_t* bits),
                 (mask, block, example, first_token, bits))

}  // namespace

DropoutRows::DropoutRows(const DropoutKey& key, int64_t tokens) : tokens(tokens) {
  if (!key.active()) return;
  example_ids = key.example_ids.const_data_ptr<int64_t>();
  seed = key.seed;
  site_word = key.site << 8 | static_cast<uint32_t>(RandomDomain::kDropout);
  step = key.step;
  token_bits = key.is_tied ? 0 : ~0u;
  threshold = key.Threshold();
  scale = key.Scale();
}

void ApplyDropoutRows(const DropoutRows& mask, int64_t first_row, int64_t rows, int64_t channels,
                      const float* x, const float* residual, float* out) {
  if (mask.threshold > 0) return MaskedRows(mask, first_row, rows, channels, x, residual, out);
  const int64_t n = rows * channels;
  if (residual == nullptr) {
    if (out != x) std::memcpy(out, x, n * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < n; ++i) out[i] = residual[i] + x[i];
}

void DrawWeightDropoutTile(const DropoutRows& mask, int64_t example, int64_t head,
                           int64_t first_query, int64_t key_block, DropoutTile bits) {
  DrawTile(mask, static_cast<uint32_t>(head) << 18 | static_cast<uint32_t>(key_block),
           static_cast<uint32_t>(mask.example_ids[example]), static_cast<uint32_t>(first_query),
           &bits[0][0]);
}

}  // namespace lra
