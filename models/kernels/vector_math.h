// Scalar functions without calls and branches, which GCC vectorises when they are inlined into a
// loop, and sums in lanes.
#ifndef LRA_MODELS_KERNELS_VECTOR_MATH_H_
#define LRA_MODELS_KERNELS_VECTOR_MATH_H_

#include <bit>
#include <cstdint>

#include "models/kernels/simd.h"

namespace lra {

// e^x for x <= 0, within 2 ulp (Cephes' expf). The result is above 0, x below -87 counts as -87,
// and NaN stays NaN.
inline LRA_ALWAYS_INLINE float ExpNonPositive(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float shifted =
      x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds to an integer in the low bits
  const float whole = shifted - 12582912.0f;
  float r = x - whole * 0.693359375f;
  r = r - whole * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float value = p * (r * r) + r + 1.0f;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - 0x4B400000 + 127;
  return value * std::bit_cast<float>(exponent << 23);
}

// Returns 2^x for x < 127, within 2 ulp, and 0 for x < -125. NaN stays NaN. The polynomial is that
// of Cephes' exp2f.
inline LRA_ALWAYS_INLINE float Exp2(float x) {
  const float bounded = x < -125.0f ? -125.0f : x;
  // 1.5 * 2^23: x is rounded to an integer in the low bits.
  const float shifted = bounded + 12582912.0f;
  const float r = bounded - (shifted - 12582912.0f);
  float p = 1.535336188319500e-4f;
  p = p * r + 1.339887440266574e-3f;
  p = p * r + 9.618437357674640e-3f;
  p = p * r + 5.550332471162809e-2f;
  p = p * r + 2.402264791363012e-1f;
  p = p * r + 6.931472028550421e-1f;
  p = p * r + 1.0f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) << 23;
  const float value = std::bit_cast<float>(std::bit_cast<uint32_t>(p) + exponent);
  return x < -125.0f ? 0.0f : value;
}

// log x for normal x > 0, within 2 ulp (Cephes' logf). NaN stays NaN; no other x is right.
inline LRA_ALWAYS_INLINE float LogNormal(float x) {
  // x = 2^e (1 + m) with 1 + m in [sqrt 1/2, sqrt 2).
  const int32_t bits = std::bit_cast<int32_t>(x) - 0x3F3504F3;
  const auto e = static_cast<float>(bits >> 23);
  const float m = std::bit_cast<float>((bits & 0x007FFFFF) + 0x3F3504F3) - 1.0f;
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float tail = p * m * z + e * -2.12194440e-4f - 0.5f * z;
  return m + tail + e * 0.693359375f + (x - x);
}

// sin x and cos x within 2e-7 absolute for |x| <= kSinCosLimit; NaN stays NaN (Cephes' sinf, cosf).
constexpr float kSinCosLimit = 8192;
inline LRA_ALWAYS_INLINE void SinCos(float x, float* sine, float* cosine) {
  const float shifted = x * 0.636619772f + 12582912.0f;  // quarter turns, rounded as above
  const float turns = shifted - 12582912.0f;
  const int32_t quadrant = std::bit_cast<int32_t>(shifted);
  float r = x - turns * 1.5703125f;
  r = r - turns * 4.837512969970703125e-4f;
  r = r - turns * 7.54978995489188216e-8f;
  const float z = r * r;
  const float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
  const float c =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
      0.5f * z + 1.0f;
  const bool is_odd = (quadrant & 1) != 0;
  const float first = is_odd ? c : s, second = is_odd ? s : c;
  *sine = (quadrant & 2) != 0 ? -first : first;
  *cosine = ((quadrant + 1) & 2) != 0 ? -second : second;
}

// Sixteen floats that are summed side by side, so that the order of a sum is the same with every
// instruction set.
typedef float Lanes __attribute__((vector_size(64), aligned(4)));
constexpr int64_t kLanesWidth = 16;

inline LRA_ALWAYS_INLINE Lanes LoadLanes(const float* p) {
  return *reinterpret_cast<const Lanes*>(p);
}

// Halves are added to halves.
typedef float FourLanes __attribute__((vector_size(16)));
typedef float EightLanes __attribute__((vector_size(32)));
inline LRA_ALWAYS_INLINE float SumFour(FourLanes v) { return (v[0] + v[2]) + (v[1] + v[3]); }
inline LRA_ALWAYS_INLINE float SumEight(EightLanes v) {
  return SumFour(__builtin_shufflevector(v, v, 0, 1, 2, 3) +
                 __builtin_shufflevector(v, v, 4, 5, 6, 7));
}
inline LRA_ALWAYS_INLINE float SumLanes(Lanes v) {
  return SumEight(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                  __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}

// Lanes in the registers of a path, with the same order of sums. GCC takes vectors that are longer
// than a register apart through memory.
template <KernelPath kPath>
struct SplitLanes {
  static constexpr int kWidth =
      kPath == KernelPath::kAvx512 ? 16 : (kPath == KernelPath::kAvx2 ? 8 : 4);
  static constexpr int kParts = kLanesWidth / kWidth;
  typedef float Part __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
  Part part[kParts];

  LRA_ALWAYS_INLINE SplitLanes() : part() {}
  explicit LRA_ALWAYS_INLINE SplitLanes(const float* p) {
    for (int i = 0; i < kParts; ++i) part[i] = *reinterpret_cast<const Part*>(p + i * kWidth);
  }
  LRA_ALWAYS_INLINE SplitLanes& operator+=(const SplitLanes& x) {
    for (int i = 0; i < kParts; ++i) part[i] += x.part[i];
    return *this;
  }
  LRA_ALWAYS_INLINE SplitLanes operator*(const SplitLanes& x) const {
    SplitLanes y;
    for (int i = 0; i < kParts; ++i) y.part[i] = part[i] * x.part[i];
    return y;
  }
  LRA_ALWAYS_INLINE SplitLanes operator*(float x) const {
    SplitLanes y;
    for (int i = 0; i < kParts; ++i) y.part[i] = part[i] * x;
    return y;
  }
  LRA_ALWAYS_INLINE SplitLanes operator-(float x) const {
    SplitLanes y;
    for (int i = 0; i < kParts; ++i) y.part[i] = part[i] - x;
    return y;
  }
  // Halves are added to halves, as in SumLanes().
  LRA_ALWAYS_INLINE float Sum() const {
    if constexpr (kParts == 1) {
      return SumLanes(*reinterpret_cast<const Lanes*>(part));
    } else if constexpr (kParts == 2) {
      return SumEight(part[0] + part[1]);
    } else {
      return SumFour((part[0] + part[2]) + (part[1] + part[3]));
    }
  }
};

inline LRA_ALWAYS_INLINE float DotLanes(const float* a, const float* b, int64_t n) {
  Lanes lanes = {};
  int64_t i = 0;
  for (; i + kLanesWidth <= n; i += kLanesWidth) lanes += LoadLanes(a + i) * LoadLanes(b + i);
  float sum = SumLanes(lanes);
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_VECTOR_MATH_H_
