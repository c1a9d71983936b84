// The matrix product that every tile is made of, in float32: blocks of it stay in vector registers.
#ifndef LRA_MODELS_KERNELS_TILE_PRODUCT_H_
#define LRA_MODELS_KERNELS_TILE_PRODUCT_H_

#include <cstdint>

namespace lra {

inline int64_t RoundUp(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Lanes come in whole vectors of the widest instruction set, and three vectors make the widest
// block of registers.
constexpr int64_t kLaneStep = 16, kPanelLanes = 3 * kLaneStep;

// out[r][lane] = start[lane] + sum_i a[r][i] b[i][lane], or out += the sum if start is null. With
// is_transposed, a[i][r] is read instead. lanes is a multiple of kLaneStep. The rows of a, b and
// out are a stride of floats apart. Sums run over i in order, in fused multiply-adds where the
// instruction set has them.
struct TileProduct {
  int64_t rows, inner, lanes;
  const float* a;
  int64_t a_stride;
  bool is_transposed;
  const float* b;
  int64_t b_stride;
  const float* start;
  float* out;
  int64_t out_stride;
};
void MultiplyTile(const TileProduct& product);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_TILE_PRODUCT_H_
