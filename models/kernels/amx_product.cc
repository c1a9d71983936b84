#include "models/kernels/amx_product.h"

#include <algorithm>
#include <type_traits>

#include "lra/check.h"
#include "models/kernels/floats.h"
#include "models/kernels/pair_transpose.h"

#if defined(__x86_64__)

#define LRA_TARGET_AMX __attribute__((target("amx-tile,amx-bf16,avx512f")))

namespace lra::internal {
namespace {

constexpr int64_t kTileRows = 16, kTileInner = 32, kTileLanes = 16;
constexpr int64_t kTilePairs = kTileInner / 2;

// What LDTILECFG reads. Tiles 0 to 3 are a block of the result, 4 and 5 rows of a, 6 and 7 of b.
struct alignas(64) TileShapes {
  TileShapes(int64_t rows, int64_t inner) {
    for (int tile = 0; tile < 8; ++tile) {
      const bool is_a = tile == 4 || tile == 5, is_b = tile >= 6;
      row_bytes[tile] = static_cast<uint16_t>(is_a ? 2 * inner : 4 * kTileLanes);
      row_count[tile] = static_cast<uint8_t>(is_b ? inner / 2 : rows);
    }
  }
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t row_count[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

LRA_TARGET_AMX inline LRA_ALWAYS_INLINE void UseShapes(int64_t rows, int64_t inner) {
  const TileShapes shapes(rows, inner);
  // GCC's intrinsics do not say what they read: without this, writes before them could come later.
  __asm__ volatile("" ::"r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

// The part of a product that tiles of one shape compute: whole tiles of `inner` numbers, up to
// two tiles of rows and two of lanes.
struct Block {
  const BFloat16 *a, *b;
  const float* from;  // what the result starts from, from_bytes from row to row
  float* out;
  int64_t a_bytes, b_bytes, from_bytes, out_bytes;
  int64_t inner;
};

// Tiles have their strides in bytes.
template <class T>
T* Behind(T* address, int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(address) + bytes);
}

// The instructions name tiles by constants.
template <int kRowTiles, int kLaneTiles>
LRA_TARGET_AMX inline LRA_ALWAYS_INLINE void LoadResult(const Block& p) {
  const float* second = Behind(p.from, kTileRows * p.from_bytes);
  _tile_loadd(0, p.from, p.from_bytes);
  if constexpr (kLaneTiles == 2) _tile_loadd(1, p.from + kTileLanes, p.from_bytes);
  if constexpr (kRowTiles == 2) _tile_loadd(2, second, p.from_bytes);
  if constexpr (kRowTiles == 2 && kLaneTiles == 2)
    _tile_loadd(3, second + kTileLanes, p.from_bytes);
}

template <int kRowTiles, int kLaneTiles>
LRA_TARGET_AMX inline LRA_ALWAYS_INLINE void StoreResult(const Block& p) {
  float* second = Behind(p.out, kTileRows * p.out_bytes);
  _tile_stored(0, p.out, p.out_bytes);
  if constexpr (kLaneTiles == 2) _tile_stored(1, p.out + kTileLanes, p.out_bytes);
  if constexpr (kRowTiles == 2) _tile_stored(2, second, p.out_bytes);
  if constexpr (kRowTiles == 2 && kLaneTiles == 2)
    _tile_stored(3, second + kTileLanes, p.out_bytes);
}

template <int kRowTiles, int kLaneTiles>
LRA_TARGET_AMX inline LRA_ALWAYS_INLINE void MultiplyBlock(const Block& p) {
  LoadResult<kRowTiles, kLaneTiles>(p);
  const BFloat16 *a = p.a, *b = p.b;
  const int64_t second_rows = kTileRows * p.a_bytes, next_b = kTilePairs * p.b_bytes;
  for (int64_t i = 0; i < p.inner; i += kTileInner, a += kTileInner, b = Behind(b, next_b)) {
    _tile_loadd(4, a, p.a_bytes);
    _tile_loadd(6, b, p.b_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kLaneTiles == 2) {
      _tile_loadd(7, b + 2 * kTileLanes, p.b_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kRowTiles == 2) {
      _tile_loadd(5, Behind(a, second_rows), p.a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kLaneTiles == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  StoreResult<kRowTiles, kLaneTiles>(p);
}

template <int kRowTiles>
LRA_TARGET_AMX inline LRA_ALWAYS_INLINE void MultiplyLanes(Block block, int64_t lanes) {
  const auto advance = [&](int64_t by) {
    block.b += 2 * by;
    block.from += by;
    block.out += by;
  };
  int64_t lane = 0;
  for (; lane + 2 * kTileLanes <= lanes; lane += 2 * kTileLanes, advance(2 * kTileLanes))
    MultiplyBlock<kRowTiles, 2>(block);
  if (lane < lanes) MultiplyBlock<kRowTiles, 1>(block);
}

Block BlockAt(const Bfloat16Product& p, int64_t row) {
  const auto floats = static_cast<int64_t>(sizeof(float));
  float* out = p.out + row * p.out_stride;
  return {.a = p.a + row * p.a_stride,
          .b = p.b,
          .from = p.start == nullptr ? out : p.start,
          .out = out,
          .a_bytes = 2 * p.a_stride,
          .b_bytes = 4 * p.b_stride,
          .from_bytes = p.start == nullptr ? floats * p.out_stride : 0,
          .out_bytes = floats * p.out_stride,
          .inner = p.inner};
}

// All rows, where the last tile of each has `tile_inner` numbers and inner is a multiple of it.
LRA_TARGET_AMX void MultiplyRows(const Bfloat16Product& p, int64_t tile_inner) {
  const int64_t whole = p.rows / kTileRows * kTileRows;
  int64_t row = 0;
  if (whole > 0) UseShapes(kTileRows, tile_inner);
  for (; row + 2 * kTileRows <= whole; row += 2 * kTileRows)
    MultiplyLanes<2>(BlockAt(p, row), p.lanes);
  if (row < whole) MultiplyLanes<1>(BlockAt(p, row), p.lanes);
  if (whole == p.rows) return;
  UseShapes(p.rows - whole, tile_inner);
  MultiplyLanes<1>(BlockAt(p, whole), p.lanes);
}

LRA_TARGET_AMX void MultiplyPlain(Bfloat16Product p) {
  const int64_t inner = p.inner, whole = inner / kTileInner * kTileInner;
  if (whole > 0) {
    p.inner = whole;
    MultiplyRows(p, kTileInner);
    p.start = nullptr;
  }
  if (whole < inner) {
    p.inner = inner - whole;
    p.a += whole;
    p.b += whole * p.b_stride;
    MultiplyRows(p, p.inner);
  }
  _tile_release();
}

// [inner / 2][rows][2] -> [rows][padded], which the pairs of a column fill up to `inner`.
LRA_TARGET_BFLOAT16 void TransposePairs(const Bfloat16Product& p, int64_t padded, BFloat16* out) {
  const int64_t pairs = p.inner / 2;
  for (int64_t pair = 0; pair < pairs; pair += 16) {
    for (int64_t row = 0; row < p.rows; row += 16) {
      const int64_t count = std::min<int64_t>(16, pairs - pair), left = p.rows - row;
      const BFloat16* from = p.a + 2 * (pair * p.a_stride + row);
      __m512i tile[16];
      for (int64_t i = 0; i < 16; ++i) {
        tile[i] = i < count ? _mm512_maskz_loadu_epi32(MaskOf(left), from + 2 * i * p.a_stride)
                            : _mm512_setzero_si512();
      }
      Transpose16(tile);
      for (int64_t i = 0; i < std::min<int64_t>(16, left); ++i)
        _mm512_storeu_si512(out + (row + i) * padded + 2 * pair, tile[i]);
    }
  }
}

}  // namespace

void MultiplyTileAmx(const Bfloat16Product& product) {
  if (!product.is_paired) return MultiplyPlain(product);
  thread_local GrowingScratch<BFloat16> memory;
  const int64_t padded = (product.inner + kTileInner - 1) / kTileInner * kTileInner;
  BFloat16* rows = memory.AtLeast(product.rows * padded);
  TransposePairs(product, padded, rows);
  Bfloat16Product plain = product;
  plain.a = rows;
  plain.a_stride = padded;
  plain.is_paired = false;
  MultiplyPlain(plain);
}

}  // namespace lra::internal

#else

namespace lra::internal {

void MultiplyTileAmx(const Bfloat16Product&) { LRA_CHECK(false) << "no AMX"; }

}  // namespace lra::internal

#endif
