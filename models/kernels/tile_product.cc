// This file is built with contraction into fused multiply-adds (models/CMakeLists.txt), because
// these are matrix products, and BLAS fuses them, too. Results may therefore differ in the last
// bits between instruction sets.
#include "models/kernels/tile_product.h"

#include "models/kernels/simd.h"

namespace lra {
namespace {

// A block has kRows x kVectors accumulators. Together with the operands and their broadcasts, these
// fill the vector registers of each instruction set: 32 of 16 floats, 16 of 8, 16 of 4.
template <KernelPath kPath>
struct Registers;
template <>
struct Registers<KernelPath::kAvx512> {
  typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
  static constexpr int kWidth = 16, kRows = 8, kVectors = 3;
};
template <>
struct Registers<KernelPath::kAvx2> {
  typedef float Vector __attribute__((vector_size(32), aligned(4), may_alias));
  static constexpr int kWidth = 8, kRows = 4, kVectors = 3;
};
template <>
struct Registers<KernelPath::kBaseline> {
  typedef float Vector __attribute__((vector_size(16), aligned(4), may_alias));
  static constexpr int kWidth = 4, kRows = 4, kVectors = 2;
};

template <KernelPath kPath, int kRows, int kVectors, bool kTransposed>
inline LRA_ALWAYS_INLINE void MultiplyBlock(const TileProduct& p, int64_t row, int64_t lane) {
  using Vector = typename Registers<kPath>::Vector;
  constexpr int kWidth = Registers<kPath>::kWidth;
  Vector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Vector{};
  }
  const float* a = p.a + (kTransposed ? row : row * p.a_stride);
  const float* b = p.b + lane;
  const int64_t row_step = kTransposed ? 1 : p.a_stride;
  const int64_t inner_step = kTransposed ? p.a_stride : 1;
  for (int64_t i = 0; i < p.inner; ++i, a += inner_step, b += p.b_stride) {
    Vector lanes[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) lanes[v] = *reinterpret_cast<const Vector*>(b + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float factor = a[r * row_step];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * lanes[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* out = p.out + (row + r) * p.out_stride + lane;
    const float* from = p.start == nullptr ? out : p.start + lane;
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Vector*>(out + v * kWidth) =
          *reinterpret_cast<const Vector*>(from + v * kWidth) + sums[r][v];
    }
  }
}

// All rows of kVectors vectors: whole blocks, then one by one.
template <KernelPath kPath, int kVectors, bool kTransposed>
inline LRA_ALWAYS_INLINE void MultiplyPanel(const TileProduct& p, int64_t lane) {
  constexpr int kRows = Registers<kPath>::kRows;
  int64_t row = 0;
  for (; row + kRows <= p.rows; row += kRows)
    MultiplyBlock<kPath, kRows, kVectors, kTransposed>(p, row, lane);
  for (; row < p.rows; ++row) MultiplyBlock<kPath, 1, kVectors, kTransposed>(p, row, lane);
}

template <KernelPath kPath, bool kTransposed>
inline LRA_ALWAYS_INLINE void MultiplyRows(const TileProduct& p) {
  using Level = Registers<kPath>;
  constexpr int kWidth = Level::kWidth;
  // Blocks of full width are used where they divide the lanes, otherwise blocks of two vectors, and
  // a single vector for what is left.
  constexpr int64_t kWide = Level::kVectors * kWidth, kPair = 2 * kWidth;
  const int64_t wide = p.lanes % kWide == 0 ? p.lanes : 0;
  int64_t lane = 0;
  for (; lane < wide; lane += kWide) MultiplyPanel<kPath, Level::kVectors, kTransposed>(p, lane);
  for (; lane + kPair <= p.lanes; lane += kPair) MultiplyPanel<kPath, 2, kTransposed>(p, lane);
  for (; lane < p.lanes; lane += kWidth) MultiplyPanel<kPath, 1, kTransposed>(p, lane);
}

template <KernelPath kPath>
inline LRA_ALWAYS_INLINE void MultiplyTileBody(const TileProduct& p) {
  if (p.is_transposed) {
    MultiplyRows<kPath, true>(p);
  } else {
    MultiplyRows<kPath, false>(p);
  }
}

}  // namespace

LRA_MULTIVERSION_BY_PATH(MultiplyTile, (const TileProduct& product), (product))

}  // namespace lra
