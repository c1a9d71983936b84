// Prefetching in software: rows of a projection lie hundreds of bytes to kilobytes apart, where no
// hardware prefetcher looks.
#ifndef LRA_MODELS_KERNELS_PREFETCH_H_
#define LRA_MODELS_KERNELS_PREFETCH_H_

#include <cstdint>

#include "models/kernels/simd.h"

namespace lra {

constexpr int64_t kRowsAhead = 16;  // how far to prefetch

// The row may lie behind the end of its tensor: a prefetch never faults. It must be inlined: GCC 12
// takes a function that only prefetches for one without effects, and drops calls of it.
inline LRA_ALWAYS_INLINE void PrefetchRow(const float* row, int64_t width) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t c = 0; c < width; c += kLineFloats) __builtin_prefetch(row + c);
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_PREFETCH_H_
