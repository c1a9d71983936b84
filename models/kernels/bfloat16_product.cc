#include "models/kernels/bfloat16_product.h"

#include <algorithm>
#include <cstring>

#include "lra/check.h"
#include "models/base/kernel_path.h"
#include "models/kernels/amx_product.h"
#include "models/kernels/pair_transpose.h"
#include "models/kernels/tile_product.h"

#if defined(__x86_64__)

namespace lra {
namespace {

using internal::MaskOf;
using internal::Transpose16;

constexpr int kRegisterRows = 8, kRegisterVectors = 3;  // 24 accumulators, 3 operands, a broadcast

// One pair of numbers in every lane.
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE __m512bh Broadcast(const BFloat16* pair) {
  int32_t bits;
  std::memcpy(&bits, pair, sizeof bits);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(bits));
}

template <int kRows, int kVectors, bool kPaired>
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE void MultiplyBlock(const Bfloat16Product& p,
                                                                int64_t row, int64_t lane) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  const BFloat16* a = p.a + (kPaired ? 2 * row : row * p.a_stride);
  const BFloat16* b = p.b + 2 * lane;
  const int64_t row_step = kPaired ? 2 : p.a_stride;
  const int64_t inner_step = kPaired ? 2 * p.a_stride : 2;
  for (int64_t i = 0; i < p.inner; i += 2, a += inner_step, b += 2 * p.b_stride) {
    __m512bh lanes[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v)
      lanes[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + 2 * v * kLaneStep));
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512bh factor = Broadcast(a + r * row_step);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = _mm512_dpbf16_ps(sums[r][v], factor, lanes[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* out = p.out + (row + r) * p.out_stride + lane;
    const float* from = p.start == nullptr ? out : p.start + lane;
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_ps(out + v * kLaneStep,
                       _mm512_add_ps(_mm512_loadu_ps(from + v * kLaneStep), sums[r][v]));
    }
  }
}

template <int kVectors, bool kPaired>
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE void MultiplyPanel(const Bfloat16Product& p,
                                                                int64_t lane) {
  int64_t row = 0;
  for (; row + kRegisterRows <= p.rows; row += kRegisterRows)
    MultiplyBlock<kRegisterRows, kVectors, kPaired>(p, row, lane);
  for (; row < p.rows; ++row) MultiplyBlock<1, kVectors, kPaired>(p, row, lane);
}

template <bool kPaired>
LRA_TARGET_BFLOAT16 void MultiplyRows(const Bfloat16Product& p) {
  const int64_t wide = p.lanes % kPanelLanes == 0 ? p.lanes : 0;
  int64_t lane = 0;
  for (; lane < wide; lane += kPanelLanes) MultiplyPanel<kRegisterVectors, kPaired>(p, lane);
  for (; lane + 2 * kLaneStep <= p.lanes; lane += 2 * kLaneStep) MultiplyPanel<2, kPaired>(p, lane);
  for (; lane < p.lanes; lane += kLaneStep) MultiplyPanel<1, kPaired>(p, lane);
}

// Up to 16 numbers of a row from column c on, multiplied by the factor; 0 behind the width.
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE __m512 LoadScaled(const float* row, int64_t width,
                                                               int64_t c, float factor) {
  return _mm512_maskz_loadu_ps(MaskOf(width - c), row + c) * _mm512_set1_ps(factor);
}

inline const float* RowOf(const RoundedBlock& block, int64_t r) {
  return block.data + (block.index == nullptr ? r : block.index[r]) * block.stride;
}

// 16 numbers of row r from column c on; 0 where there is no such row.
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE __m512 LoadRow(const RoundedBlock& block, int64_t r,
                                                            int64_t c) {
  const float* row = r < block.rows ? RowOf(block, r) : block.data;
  const int64_t width = r < block.rows ? block.width : 0;
  return LoadScaled(row, width, c, block.factor);
}

// Whole vectors, which need no masks, and no factor: most blocks by far.
bool IsWhole(const RoundedBlock& block, int64_t padded_width) {
  return block.factor == 1.0f && padded_width == block.width && block.width % 16 == 0;
}

LRA_TARGET_BFLOAT16 void RoundWholeRows(const RoundedBlock& block, BFloat16* out) {
  for (int64_t r = 0; r < block.rows; ++r, out += block.width) {
    const float* row = RowOf(block, r);
    int64_t c = 0;
    for (; c + 32 <= block.width; c += 32) {
      const __m512bh rounded =
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + c + 16), _mm512_loadu_ps(row + c));
      _mm512_storeu_si512(out + c, reinterpret_cast<__m512i>(rounded));
    }
    if (c == block.width) continue;
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(row + c));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + c), reinterpret_cast<__m256i>(rounded));
  }
}

LRA_TARGET_BFLOAT16 void RoundRowsAvx512(const RoundedBlock& block, int64_t padded_width,
                                         BFloat16* out) {
  if (IsWhole(block, padded_width)) return RoundWholeRows(block, out);
  for (int64_t r = 0; r < block.rows; ++r, out += padded_width) {
    const float* row = RowOf(block, r);
    for (int64_t c = 0; c < padded_width; c += 32) {
      const __m512bh rounded =
          _mm512_cvtne2ps_pbh(LoadScaled(row, block.width, c + 16, block.factor),
                              LoadScaled(row, block.width, c, block.factor));
      const int64_t left = padded_width - c;
      const __mmask32 mask = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
      _mm512_mask_storeu_epi16(out + c, mask, reinterpret_cast<__m512i>(rounded));
    }
  }
}

// [low 16 | high 16] -> low 0, high 0, low 1, ...
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE __m512i Interleave(__m512bh halves) {
  const __m512i low = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i order =
      _mm512_or_si512(low, _mm512_slli_epi32(_mm512_add_epi32(low, _mm512_set1_epi32(16)), 16));
  return _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(halves));
}

// Writes all whole pairs of rows, and returns how many rows those are.
LRA_TARGET_BFLOAT16 int64_t PairWholeRows(const RoundedBlock& block, BFloat16* out) {
  int64_t r = 0;
  for (; r + 2 <= block.rows; r += 2, out += 2 * block.width) {
    const float *first = RowOf(block, r), *second = RowOf(block, r + 1);
    for (int64_t c = 0; c < block.width; c += 16) {
      const __m512i pairs =
          Interleave(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(second + c), _mm512_loadu_ps(first + c)));
      _mm512_storeu_si512(out + 2 * c, pairs);
    }
  }
  return r;
}

// 16 numbers from column c on of rows r and r + 1, as pairs.
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE __m512i PairAt(const RoundedBlock& block, int64_t r,
                                                            int64_t c) {
  return Interleave(_mm512_cvtne2ps_pbh(LoadRow(block, r + 1, c), LoadRow(block, r, c)));
}

// 32 rows at a time, so that their memory is read once and in order.
LRA_TARGET_BFLOAT16 void RoundColumnsAvx512(const RoundedBlock& block, int64_t padded_rows,
                                            BFloat16* out) {
  for (int64_t r = 0; r < padded_rows; r += 32) {
    const int64_t left = padded_rows - r;
    const __mmask32 mask = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
    for (int64_t c = 0; c < block.width; c += 16) {
      __m512i tile[16];
      for (int64_t i = 0; i < 16; ++i) tile[i] = PairAt(block, r + 2 * i, c);
      Transpose16(tile);
      for (int64_t i = 0; i < std::min<int64_t>(16, block.width - c); ++i)
        _mm512_mask_storeu_epi16(out + (c + i) * padded_rows + r, mask, tile[i]);
    }
  }
}

LRA_TARGET_BFLOAT16 void PairRowsAvx512(const RoundedBlock& block, int64_t padded_width,
                                        BFloat16* out) {
  const int64_t done = IsWhole(block, padded_width) ? PairWholeRows(block, out) : 0;
  out += done * padded_width;
  for (int64_t r = done; r < block.rows; r += 2, out += 2 * padded_width) {
    for (int64_t c = 0; c < padded_width; c += 16)
      _mm512_mask_storeu_epi32(out + 2 * c, MaskOf(padded_width - c), PairAt(block, r, c));
  }
}

LRA_TARGET_BFLOAT16 void PairColumnsAvx512(const RoundedBlock& block, int64_t padded_rows,
                                           BFloat16* out) {
  const int64_t pairs = (block.width + 1) / 2;
  for (int64_t r = 0; r < padded_rows; r += 16) {
    for (int64_t c = 0; c < pairs; c += 16) {
      __m512i tile[16];
      for (int i = 0; i < 16; ++i) {
        tile[i] = reinterpret_cast<__m512i>(
            _mm512_cvtne2ps_pbh(LoadRow(block, r + i, 2 * c + 16), LoadRow(block, r + i, 2 * c)));
      }
      Transpose16(tile);
      const int64_t count = std::min<int64_t>(16, pairs - c);
      for (int64_t i = 0; i < count; ++i) {
        _mm512_mask_storeu_epi32(out + 2 * ((c + i) * padded_rows + r), MaskOf(padded_rows - r),
                                 tile[i]);
      }
    }
  }
}

}  // namespace

void MultiplyTile(const Bfloat16Product& product) {
  if (ActiveKernelPath() == KernelPath::kAmx && product.inner > 0) {
    internal::MultiplyTileAmx(product);
  } else if (product.is_paired) {
    MultiplyRows<true>(product);
  } else {
    MultiplyRows<false>(product);
  }
}

// With AMX, a panel of 32 lanes and a slice of 512 numbers fit into the first-level cache, and rows
// stream past it.
int64_t WidestBfloat16Panel() { return TransposesPairs() ? 2 * kLaneStep : kPanelLanes; }
bool TransposesPairs() { return ActiveKernelPath() == KernelPath::kAmx; }

void RoundRows(const RoundedBlock& block, int64_t padded_width, BFloat16* out) {
  RoundRowsAvx512(block, padded_width, out);
}
void RoundColumns(const RoundedBlock& block, int64_t padded_rows, BFloat16* out) {
  RoundColumnsAvx512(block, padded_rows, out);
}
void PairRows(const RoundedBlock& block, int64_t padded_width, BFloat16* out) {
  PairRowsAvx512(block, padded_width, out);
}
void PairColumns(const RoundedBlock& block, int64_t padded_rows, BFloat16* out) {
  PairColumnsAvx512(block, padded_rows, out);
}

}  // namespace lra

#else  // HasBfloat16Products() is false.

namespace lra {

void MultiplyTile(const Bfloat16Product&) { LRA_CHECK(false) << "no bfloat16 products"; }
int64_t WidestBfloat16Panel() { return kPanelLanes; }
bool TransposesPairs() { return false; }
void RoundRows(const RoundedBlock&, int64_t, BFloat16*) { LRA_CHECK(false) << "no bfloat16"; }
void RoundColumns(const RoundedBlock&, int64_t, BFloat16*) { LRA_CHECK(false) << "no bfloat16"; }
void PairRows(const RoundedBlock&, int64_t, BFloat16*) { LRA_CHECK(false) << "no bfloat16"; }
void PairColumns(const RoundedBlock&, int64_t, BFloat16*) { LRA_CHECK(false) << "no bfloat16"; }

}  // namespace lra

#endif
