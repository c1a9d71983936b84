// The transpose of a square of pairs of bfloat16 numbers in AVX-512's registers.
#ifndef LRA_MODELS_KERNELS_PAIR_TRANSPOSE_H_
#define LRA_MODELS_KERNELS_PAIR_TRANSPOSE_H_

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "models/kernels/simd.h"

#define LRA_TARGET_BFLOAT16 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16" LRA_WIDEST_VECTORS)))

namespace lra::internal {

// Lanes [0, count); none for less than 1, all for 16 and more.
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE __mmask16 MaskOf(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// Transposes 16 rows of 16 pairs.
LRA_TARGET_BFLOAT16 inline LRA_ALWAYS_INLINE void Transpose16(__m512i* rows) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    rows[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    rows[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    rows[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(rows[i], rows[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_i32x4(rows[i], rows[4 + i], 0xdd);
    t[8 + i] = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
    rows[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
    rows[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
    rows[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xdd);
  }
}

}  // namespace lra::internal

#endif

#endif  // LRA_MODELS_KERNELS_PAIR_TRANSPOSE_H_
