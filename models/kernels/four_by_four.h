// Four rows of four floats, which packing transposes at a time.
#ifndef LRA_MODELS_KERNELS_FOUR_BY_FOUR_H_
#define LRA_MODELS_KERNELS_FOUR_BY_FOUR_H_

#include <cstdint>

#include "models/kernels/simd.h"

namespace lra {

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
struct FourRows {
  Four row[4];
};

inline LRA_ALWAYS_INLINE FourRows LoadFour(const float* rows, int64_t stride) {
  FourRows block;
  for (int i = 0; i < 4; ++i) block.row[i] = *reinterpret_cast<const Four*>(rows + i * stride);
  return block;
}

inline LRA_ALWAYS_INLINE void StoreFour(const FourRows& block, float* rows, int64_t stride) {
  for (int i = 0; i < 4; ++i) *reinterpret_cast<Four*>(rows + i * stride) = block.row[i];
}

inline LRA_ALWAYS_INLINE FourRows Transposed(const FourRows& in) {
  const Four a = __builtin_shufflevector(in.row[0], in.row[1], 0, 4, 1, 5);
  const Four b = __builtin_shufflevector(in.row[2], in.row[3], 0, 4, 1, 5);
  const Four c = __builtin_shufflevector(in.row[0], in.row[1], 2, 6, 3, 7);
  const Four d = __builtin_shufflevector(in.row[2], in.row[3], 2, 6, 3, 7);
  return {{__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
           __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)}};
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_FOUR_BY_FOUR_H_
