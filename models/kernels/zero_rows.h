// Tiles of rows whose gradient is zero, which backward passes leave out. Below a pooling that reads
// one token, and behind the ends of padded examples, most are. Zeros add nothing to a sum, so what
// is left keeps its bits. Where an activation or a weight is not finite, 0 times it would be NaN;
// in what is left out it counts as 0.
#ifndef LRA_MODELS_KERNELS_ZERO_ROWS_H_
#define LRA_MODELS_KERNELS_ZERO_ROWS_H_

#include <algorithm>
#include <cstdint>

namespace lra {

// Whether any of `count` rows of `width` numbers, which begin `stride` numbers apart, holds
// anything but zeros. NaN is not zero, -0 is.
inline bool HasNonZero(const float* rows, int64_t count, int64_t width, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    const float* const row = rows + i * stride;
    bool is_any = false;  // without an early end, which keeps the loop from being vectorised
    for (int64_t c = 0; c < width; ++c) is_any |= row[c] != 0;
    if (is_any) return true;
  }
  return false;
}

// Sets such rows to 0.
inline void ClearRows(int64_t count, int64_t width, int64_t stride, float* rows) {
  for (int64_t i = 0; i < count; ++i) std::fill_n(rows + i * stride, width, 0.0f);
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_ZERO_ROWS_H_
