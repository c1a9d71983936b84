// The inner loops of dropout: bits of Philox4x32-10 for lanes of blocks, and what they select.
#include <algorithm>
#include <cstring>

#include "lra/random.h"
#include "models/kernels/dropout.h"
#include "models/kernels/philox_lanes.h"
#include "models/kernels/simd.h"

namespace lra {
namespace {

constexpr int kLanes = 8;              // blocks drawn together
constexpr int kBlock = 8;              // elements of a block
constexpr int kRun = kLanes * kBlock;  // elements of a run

struct Counters {
  alignas(64) uint64_t block[kLanes], token[kLanes], example[kLanes];
};

// Walks over the (row, block) pairs of a tile in row-major order.
class BlockWalk {
 public:
  BlockWalk(const DropoutRows& mask, int64_t first_row, int64_t blocks_per_row)
      : mask_(mask),
        blocks_(static_cast<uint32_t>(blocks_per_row)),
        example_(first_row / mask.tokens),
        token_(static_cast<uint32_t>(first_row % mask.tokens)) {}

  // Lanes beyond the end of the tile keep what they had; their bits are never used.
  LRA_ALWAYS_INLINE void Next(int64_t lanes, Counters* counters) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      counters->block[lane] = mask_.first_block + block_;
      counters->token[lane] = token_ & mask_.token_bits;
      counters->example[lane] = static_cast<uint32_t>(mask_.example_ids[example_]);
      Move(1);
    }
  }

  // The same for kLanes blocks of one row: `blocks_per_row` is a multiple of kLanes.
  LRA_ALWAYS_INLINE void NextOfRow(Counters* counters) {
    const uint64_t token = token_ & mask_.token_bits, first = mask_.first_block + block_;
    const uint64_t example = static_cast<uint32_t>(mask_.example_ids[example_]);
#pragma GCC unroll 8
    for (uint64_t lane = 0; lane < kLanes; ++lane) {
      counters->block[lane] = first + lane;
      counters->token[lane] = token;
      counters->example[lane] = example;
    }
    Move(kLanes);
  }

 private:
  LRA_ALWAYS_INLINE void Move(uint32_t blocks) {
    block_ += blocks;
    if (block_ < blocks_) return;
    block_ = 0;
    if (++token_ < static_cast<uint32_t>(mask_.tokens)) return;
    token_ = 0;
    ++example_;
  }

  const DropoutRows& mask_;
  uint32_t blocks_;
  int64_t example_;
  uint32_t token_;
  uint32_t block_ = 0;
};

// The words of each lane side by side: [lane][4], low half first.
template <KernelPath kPath>
inline LRA_ALWAYS_INLINE void DrawLanes(const DropoutRows& mask, const Counters& counters,
                                        uint16_t* bits) {
  using Lanes = PhiloxLanes<kPath>;
  using Words = typename Lanes::Words;
  using InMemory = typename Lanes::WordsInMemory;
  for (int lane = 0; lane < kLanes; lane += Lanes::kCount, bits += Lanes::kCount * kBlock) {
    Words c0 = *reinterpret_cast<const InMemory*>(counters.block + lane);
    Words c1 = *reinterpret_cast<const InMemory*>(counters.token + lane);
    Words c2 = *reinterpret_cast<const InMemory*>(counters.example + lane);
    Words c3 = Words{} + uint64_t{mask.step};
    Philox10<kPath>(mask.seed, mask.site_word, &c0, &c1, &c2, &c3);
    const Words low = (c0 & 0xFFFFFFFFu) | c1 << 32, high = (c2 & 0xFFFFFFFFu) | c3 << 32;
    InMemory* out = reinterpret_cast<InMemory*>(bits);
    if constexpr (Lanes::kCount == 8) {
      out[0] = __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11);
      out[1] = __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
    } else if constexpr (Lanes::kCount == 4) {
      out[0] = __builtin_shufflevector(low, high, 0, 4, 1, 5);
      out[1] = __builtin_shufflevector(low, high, 2, 6, 3, 7);
    } else {
      out[0] = __builtin_shufflevector(low, high, 0, 2);
      out[1] = __builtin_shufflevector(low, high, 1, 3);
    }
  }
}

// The queries are the lanes, so that the bits of one key lie side by side.
template <KernelPath kPath>
inline LRA_ALWAYS_INLINE void DrawTileBody(const DropoutRows& mask, uint32_t block,
                                           uint32_t example, uint32_t first_token, uint16_t* bits) {
  using Lanes = PhiloxLanes<kPath>;
  using Words = typename Lanes::Words;
  using Halves = typename Lanes::Halves;
  Words tokens;
  for (uint32_t i = 0; i < Lanes::kCount; ++i) tokens[i] = uint64_t{first_token} + i;
  for (int64_t lane = 0; lane < kDropoutTileQueries; lane += Lanes::kCount) {
    Words c0 = Words{} + uint64_t{block}, c1 = tokens, c2 = Words{} + uint64_t{example};
    Words c3 = Words{} + uint64_t{mask.step};
    Philox10<kPath>(mask.seed, mask.site_word, &c0, &c1, &c2, &c3);
    uint16_t* to = bits + lane;
    for (const Words& word : {c0, c1, c2, c3}) {
      *reinterpret_cast<Halves*>(to) = __builtin_convertvector(word, Halves);
      *reinterpret_cast<Halves*>(to + kDropoutTileQueries) =
          __builtin_convertvector(word >> 16, Halves);
      to += 2 * kDropoutTileQueries;
    }
    tokens += Lanes::kCount;
  }
}

// `out` may be x or the residual.
inline LRA_ALWAYS_INLINE void Select(const uint16_t* bits, const DropoutRows& mask, const float* x,
                                     const float* residual, int64_t n, float* out) {
  const uint32_t threshold = mask.threshold;
  const float scale = mask.scale;
  if (residual == nullptr) {
    LRA_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = bits[i] >= threshold ? x[i] * scale : 0.0f;
  } else {
    LRA_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      out[i] = residual[i] + (bits[i] >= threshold ? x[i] * scale : 0.0f);
    }
  }
}

// Calls select(bits, at, n) for the elements at .. at + n of rows of whole runs.
template <KernelPath kPath, class Body>
inline LRA_ALWAYS_INLINE void ForRuns(const DropoutRows& mask, BlockWalk walk, int64_t runs,
                                      Body select) {
  Counters counters;
  alignas(64) uint16_t bits[kRun];
  for (int64_t at = 0; at < runs * kRun; at += kRun) {
    walk.NextOfRow(&counters);
    DrawLanes<kPath>(mask, counters, bits);
    select(bits, at, kRun);
  }
}

// The same for any rows.
template <KernelPath kPath, class Body>
inline LRA_ALWAYS_INLINE void ForBits(const DropoutRows& mask, int64_t first_row, int64_t rows,
                                      int64_t channels, Body select) {
  const int64_t blocks_per_row = (channels + kBlock - 1) / kBlock;
  const int64_t blocks = rows * blocks_per_row;
  const bool is_dense = channels % kBlock == 0;
  BlockWalk walk(mask, first_row, blocks_per_row);
  if (channels % kRun == 0) return ForRuns<kPath>(mask, walk, blocks / kLanes, select);
  Counters counters = {};
  alignas(64) uint16_t bits[kRun];
  for (int64_t first = 0; first < blocks; first += kLanes) {
    const int64_t lanes = std::min<int64_t>(kLanes, blocks - first);
    walk.Next(lanes, &counters);
    DrawLanes<kPath>(mask, counters, bits);
    if (is_dense && lanes == kLanes) {
      select(bits, first * kBlock, kRun);
      continue;
    }
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t channel = (first + lane) % blocks_per_row * kBlock;
      select(bits + lane * kBlock, (first + lane) / blocks_per_row * channels + channel,
             std::min<int64_t>(kBlock, channels - channel));
    }
  }
}

template <KernelPath kPath>
inline LRA_ALWAYS_INLINE void MaskedRowsBody(const DropoutRows& mask, int64_t first_row,
                                             int64_t rows, int64_t channels, const float* x,
                                             const float* residual, float* out) {
  ForBits<kPath>(mask, first_row, rows, channels,
                 [&](const uint16_t* bits, int64_t at, int64_t n) LRA_ALWAYS_INLINE {
                   Select(bits, mask, x + at, residual == nullptr ? nullptr : residual + at, n,
                          out + at);
                 });
}

template <KernelPath kPath>
inline LRA_ALWAYS_INLINE void MaskedTwiceBody(const DropoutRows& mask, int64_t first_row,
                                              int64_t rows, int64_t channels, float* x, float* y) {
  ForBits<kPath>(mask, first_row, rows, channels,
                 [&](const uint16_t* bits, int64_t at, int64_t n) LRA_ALWAYS_INLINE {
                   Select(bits, mask, x + at, nullptr, n, x + at);
                   Select(bits, mask, y + at, nullptr, n, y + at);
                 });
}

LRA_MULTIVERSION_BY_PATH(MaskedRows,
                         (const DropoutRows& mask, int64_t first_row, int64_t rows,
                          int64_t channels, const float* x, const float* residual, float* out),
                         (mask, first_row, rows, channels, x, residual, out))
LRA_MULTIVERSION_BY_PATH(MaskedTwice,
                         (const DropoutRows& mask, int64_t first_row, int64_t rows,
                          int64_t channels, float* x, float* y),
                         (mask, first_row, rows, channels, x, y))
LRA_MULTIVERSION_BY_PATH(DrawTile,
                         (const DropoutRows& mask, uint32_t block, uint32_t example,
                          uint32_t first_token, uint16_t* bits),
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

void ApplyDropoutRowsToBoth(const DropoutRows& mask, int64_t first_row, int64_t rows,
                            int64_t channels, float* x, float* y) {
  if (mask.threshold > 0) MaskedTwice(mask, first_row, rows, channels, x, y);
}

void DrawWeightDropoutTile(const DropoutRows& mask, int64_t example, int64_t head,
                           int64_t first_query, int64_t key_block, DropoutTile bits) {
  DrawTile(mask, static_cast<uint32_t>(head) << 18 | static_cast<uint32_t>(key_block),
           static_cast<uint32_t>(mask.example_ids[example]), static_cast<uint32_t>(first_query),
           &bits[0][0]);
}

}  // namespace lra
