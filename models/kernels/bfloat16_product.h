// The matrix product of tiles with factors in bfloat16 and sums in float32. Two numbers that are
// multiplied one after the other lie side by side as a pair, which AVX512-BF16 multiplies and adds
// in one instruction (VDPBF16PS). Rounding is to nearest, ties to even; subnormal numbers count as
// 0. All of it needs HasBfloat16Products().
#ifndef LRA_MODELS_KERNELS_BFLOAT16_PRODUCT_H_
#define LRA_MODELS_KERNELS_BFLOAT16_PRODUCT_H_

#include <c10/util/BFloat16.h>

#include <cstdint>

namespace lra {

using c10::BFloat16;

// out[r][lane] = start[lane] + sum_i a[r][i] b[i][lane], or out += the sum if start is null.
//   a: as RoundRows() writes it, a_stride numbers from row to row (even), or if `is_paired` as
//      PairRows() writes its transpose [inner][rows], a_stride pairs from pair of rows to pair.
//   b: as PairRows() writes [inner][lanes], b_stride pairs from pair of rows to pair of rows.
// inner is even; lanes is a multiple of kLaneStep (models/kernels/tile_product.h).
struct Bfloat16Product {
  int64_t rows, inner, lanes;
  const BFloat16* a;
  int64_t a_stride;
  bool is_paired;
  const BFloat16* b;
  int64_t b_stride;
  const float* start;
  float* out;
  int64_t out_stride;
};
void MultiplyTile(const Bfloat16Product& product);

// The widest panels of b [inner][lanes] that products of many rows should be cut into.
int64_t WidestBfloat16Panel();
// Whether a paired `a` must be laid out anew by each product: RoundColumns() is better for several.
bool TransposesPairs();

// A block of float32 to be rounded. Row r is row `index[r]` where there is an index; numbers are
// multiplied by `factor` first.
struct RoundedBlock {
  const float* data;
  int64_t rows, width, stride;
  const int32_t* index = nullptr;
  float factor = 1;
};

// -> [rows][padded_width], with zeros behind the width.
void RoundRows(const RoundedBlock& block, int64_t padded_width, BFloat16* out);
// The same for the transpose of the block: -> [width][padded_rows].
void RoundColumns(const RoundedBlock& block, int64_t padded_rows, BFloat16* out);
// -> [rows / 2, rounded up][padded_width][2]: a column's numbers of rows 2 r and 2 r + 1 side by
// side, with zeros behind the width and for a last row that is missing.
void PairRows(const RoundedBlock& block, int64_t padded_width, BFloat16* out);
// The same for the transpose of the block: -> [width / 2, rounded up][padded_rows][2].
void PairColumns(const RoundedBlock& block, int64_t padded_rows, BFloat16* out);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_BFLOAT16_PRODUCT_H_
