#include "models/kernels/rows.h"

#include <algorithm>
#include <cmath>

#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

template <KernelPath kPath>
inline LRA_ALWAYS_INLINE float SumOf(const float* x, int64_t n) {
  SplitLanes<kPath> lanes;
  int64_t i = 0;
  for (; i + kLanesWidth <= n; i += kLanesWidth) lanes += SplitLanes<kPath>(x + i);
  float sum = lanes.Sum();
  for (; i < n; ++i) sum += x[i];
  return sum;
}

template <KernelPath kPath>
inline LRA_ALWAYS_INLINE float SumOfSquares(const float* x, float mean, int64_t n) {
  SplitLanes<kPath> lanes;
  int64_t i = 0;
  for (; i + kLanesWidth <= n; i += kLanesWidth) {
    const SplitLanes<kPath> centred = SplitLanes<kPath>(x + i) - mean;
    lanes += centred * centred;
  }
  float sum = lanes.Sum();
  for (; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

template <KernelPath kPath>
inline LRA_ALWAYS_INLINE void LayerNormRowsBody(const float* x, int64_t rows, int64_t width,
                                                const float* weight, const float* bias,
                                                float epsilon, float* y, float* mean, float* rstd) {
  const float inverse_width = 1.0f / static_cast<float>(width);
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    mean[r] = SumOf<kPath>(x, width) * inverse_width;
    rstd[r] = 1.0f / std::sqrt(SumOfSquares<kPath>(x, mean[r], width) * inverse_width + epsilon);
    const float m = mean[r], s = rstd[r];
    LRA_INDEPENDENT
    for (int64_t i = 0; i < width; ++i) y[i] = (x[i] - m) * s * weight[i] + bias[i];
  }
}

template <KernelPath kPath>
inline LRA_ALWAYS_INLINE void LayerNormBackwardRowsBody(const float* x, const float* dy,
                                                        int64_t rows, int64_t width,
                                                        const float* weight, const float* mean,
                                                        const float* rstd, const float* residual,
                                                        float* dx, float* weight_gradient,
                                                        float* bias_gradient) {
  const float inverse_width = 1.0f / static_cast<float>(width);
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const float m = mean[r], s = rstd[r];
    SplitLanes<kPath> sums, dots;
    int64_t i = 0;
    for (; i + kLanesWidth <= width; i += kLanesWidth) {
      const SplitLanes<kPath> g = SplitLanes<kPath>(dy + i) * SplitLanes<kPath>(weight + i);
      sums += g;
      dots += g * ((SplitLanes<kPath>(x + i) - m) * s);
    }
    float sum = sums.Sum(), dot = dots.Sum();
    for (; i < width; ++i) {
      sum += dy[i] * weight[i];
      dot += dy[i] * weight[i] * ((x[i] - m) * s);
    }
    sum *= inverse_width;
    dot *= inverse_width;
    const float* base = residual == nullptr ? nullptr : residual + r * width;
    LRA_INDEPENDENT
    for (int64_t c = 0; c < width; ++c) {
      const float normal = (x[c] - m) * s;
      weight_gradient[c] += dy[c] * normal;
      bias_gradient[c] += dy[c];
      const float gradient = s * (dy[c] * weight[c] - sum - normal * dot);
      dx[c] = base == nullptr ? gradient : base[c] + gradient;
    }
  }
}

struct GeluPoint {
  float probability;  // gelu(x) = x * probability
  float slope;
};

// Phi(x) by Abramowitz and Stegun 7.1.26. Its exponential is also the density that the slope needs.
inline LRA_ALWAYS_INLINE GeluPoint GeluErf(float x) {
  const float magnitude = x < 0 ? -x : x;
  const float t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * magnitude);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float density = ExpNonPositive(-0.5f * x * x);
  const float tail = 0.5f * p * t * density;  // Phi(-|x|)
  const float probability = x < 0 ? tail : 1.0f - tail;
  return {probability, probability + x * density * 0.39894228f};
}

// x (1 + tanh z) / 2 = x / (1 + e^-2z), z = sqrt(2/pi) (x + 0.044715 x^3).
inline LRA_ALWAYS_INLINE GeluPoint GeluTanh(float x) {
  const float z2 = 1.5957691216f * (x + 0.044715f * x * x * x);
  const float e = ExpNonPositive(z2 < 0 ? z2 : -z2);
  const float inverse = 1.0f / (1.0f + e);
  const float probability = z2 < 0 ? e * inverse : inverse;
  const float slope = 1.5957691216f * (1.0f + 3 * 0.044715f * x * x) * (e * inverse * inverse);
  return {probability, probability + x * slope};
}

inline LRA_ALWAYS_INLINE void ActivationRowsBody(ActivationKind kind, const float* x, int64_t n,
                                                 float* out) {
  if (kind == ActivationKind::kRelu) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] <= 0 ? 0 : x[i];
  } else if (kind == ActivationKind::kGeluErf) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * GeluErf(x[i]).probability;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * GeluTanh(x[i]).probability;
  }
}

inline LRA_ALWAYS_INLINE void ActivationBackwardRowsBody(ActivationKind kind,
                                                         const float* __restrict x, int64_t n,
                                                         float* __restrict value,
                                                         float* __restrict gradient) {
  if (kind == ActivationKind::kRelu) {
    for (int64_t i = 0; i < n; ++i) {
      value[i] = x[i] <= 0 ? 0 : x[i];
      gradient[i] = x[i] <= 0 ? 0 : gradient[i];
    }
  } else if (kind == ActivationKind::kGeluErf) {
    for (int64_t i = 0; i < n; ++i) {
      const GeluPoint point = GeluErf(x[i]);
      value[i] = x[i] * point.probability;
      gradient[i] *= point.slope;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      const GeluPoint point = GeluTanh(x[i]);
      value[i] = x[i] * point.probability;
      gradient[i] *= point.slope;
    }
  }
}

inline LRA_ALWAYS_INLINE void AddColumnSumsBody(const float* x, int64_t rows, int64_t width,
                                                float* sums) {
  for (int64_t r = 0; r < rows; ++r, x += width) {
    LRA_INDEPENDENT
    for (int64_t c = 0; c < width; ++c) sums[c] += x[c];
  }
}

}  // namespace

LRA_MULTIVERSION_BY_PATH(LayerNormRows,
                         (const float* x, int64_t rows, int64_t width, const float* weight,
                          const float* bias, float epsilon, float* y, float* mean, float* rstd),
                         (x, rows, width, weight, bias, epsilon, y, mean, rstd))
LRA_MULTIVERSION_BY_PATH(LayerNormBackwardRows,
                         (const float* x, const float* dy, int64_t rows, int64_t width,
                          const float* weight, const float* mean, const float* rstd,
                          const float* residual, float* dx, float* weight_gradient,
                          float* bias_gradient),
                         (x, dy, rows, width, weight, mean, rstd, residual, dx, weight_gradient,
                          bias_gradient))
LRA_MULTIVERSION(ActivationRows, (ActivationKind kind, const float* x, int64_t n, float* out),
                 (kind, x, n, out))
LRA_MULTIVERSION(ActivationBackwardRows,
                 (ActivationKind kind, const float* x, int64_t n, float* value, float* gradient),
                 (kind, x, n, value, gradient))
LRA_MULTIVERSION(AddColumnSums, (const float* x, int64_t rows, int64_t width, float* sums),
                 (x, rows, width, sums))

void FillRows(const float* row, int64_t rows, int64_t width, float* out) {
  for (int64_t r = 0; r < rows; ++r) std::copy_n(row, width, out + r * width);
}

}  // namespace lra
