#include "models/kernels/random_feature_tiles.h"

#include <algorithm>
#include <cmath>

#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra::feature_tiles {
namespace {

inline LRA_ALWAYS_INLINE bool IsMasked(const bool* keep, int64_t row) {
  return keep != nullptr && !keep[row];
}

inline LRA_ALWAYS_INLINE void ScaledTileBody(RowsView x, const bool* keep, int64_t rows,
                                             int64_t width, float scale, float* out,
                                             float* half_squares) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x.data + r * x.stride;
    float* to = out + r * width;
    if (IsMasked(keep, r)) {
      std::fill_n(to, width, 0.0f);
    } else {
      for (int64_t c = 0; c < width; ++c) to[c] = in[c] * scale;
    }
    half_squares[r] = 0.5f * DotLanes(to, to, width);
  }
}

inline LRA_ALWAYS_INLINE void KeyLogTileBody(const bool* keep, const float* half_squares,
                                             int64_t rows, int64_t features, float* logs,
                                             float* largest) {
  for (int64_t r = 0; r < rows; ++r) {
    if (IsMasked(keep, r)) continue;
    float* row = logs + r * features;
    const float half_square = half_squares[r];
    for (int64_t c = 0; c < features; ++c) {
      row[c] -= half_square;
      largest[c] = largest[c] < row[c] ? row[c] : largest[c];
    }
  }
}

inline LRA_ALWAYS_INLINE void KeyExpTileBody(const bool* keep, const float* shift, int64_t rows,
                                             int64_t features, float* logs) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = logs + r * features;
    if (IsMasked(keep, r)) {
      std::fill_n(row, features, 0.0f);
      continue;
    }
    for (int64_t c = 0; c < features; ++c) row[c] = ExpNonPositive(row[c] - shift[c]);
  }
}

inline LRA_ALWAYS_INLINE float Largest(const float* row, int64_t n) {
  float largest = row[0];
  int64_t i = 0;
  if (n >= kLanesWidth) {
    Lanes lanes = LoadLanes(row);
    for (; i + kLanesWidth <= n; i += kLanesWidth) {
      const Lanes next = LoadLanes(row + i);
      lanes = lanes < next ? next : lanes;
    }
    for (int64_t c = 0; c < kLanesWidth; ++c) largest = std::max(largest, lanes[c]);
  }
  for (; i < n; ++i) largest = std::max(largest, row[i]);
  return largest;
}

inline LRA_ALWAYS_INLINE void QueryTileBody(const float* shift, int64_t rows, int64_t features,
                                            float* logs) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = logs + r * features;
    for (int64_t c = 0; c < features; ++c) row[c] += shift[c];
    const float largest = Largest(row, features);
    for (int64_t c = 0; c < features; ++c) row[c] = ExpNonPositive(row[c] - largest);
  }
}

inline LRA_ALWAYS_INLINE void LogGradientTileBody(RowsView gradient, RowsView phi, int64_t rows,
                                                  int64_t features, float* out, float* sums) {
  for (int64_t r = 0; r < rows; ++r) {
    const float *g = gradient.data + r * gradient.stride, *f = phi.data + r * phi.stride;
    for (int64_t c = 0; c < features; ++c) out[r * features + c] = g[c] * f[c];
    sums[r] = DotLanes(g, f, features);
  }
}

inline LRA_ALWAYS_INLINE void PositiveInputTileBody(RowsView x, const bool* keep,
                                                    const float* through, const float* sums,
                                                    int64_t rows, int64_t width, float scale,
                                                    RowsView out) {
  for (int64_t r = 0; r < rows; ++r) {
    const float *in = x.data + r * x.stride, *t = through + r * width;
    float* to = out.data + r * out.stride;
    if (IsMasked(keep, r)) {
      std::fill_n(to, width, 0.0f);
      continue;
    }
    const float own = scale * sums[r];
    for (int64_t c = 0; c < width; ++c) to[c] = scale * (t[c] - in[c] * own);
  }
}

inline LRA_ALWAYS_INLINE void UnitTileBody(RowsView x, const bool* keep, int64_t rows,
                                           int64_t width, float* unit, float* inverse_norms) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x.data + r * x.stride;
    float* to = unit + r * width;
    inverse_norms[r] = 1.0f;
    if (IsMasked(keep, r)) {
      std::fill_n(to, width, 0.0f);
      continue;
    }
    const float square = DotLanes(in, in, width);
    if (square != 0) inverse_norms[r] = 1.0f / std::sqrt(square);
    for (int64_t c = 0; c < width; ++c) to[c] = in[c] * inverse_norms[r];
  }
}

inline LRA_ALWAYS_INLINE void SigmaTileBody(const float* unit, const float* sigma, int64_t rows,
                                            int64_t width, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) out[r * width + c] = unit[r * width + c] * sigma[c];
  }
}

inline LRA_ALWAYS_INLINE void SinCosTileBody(const float* angles, int64_t rows, int64_t count,
                                             float factor, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = angles + r * count;
    float *sines = out + r * 2 * count, *cosines = sines + count;
    int is_wide = 0;
    for (int64_t c = 0; c < count; ++c) is_wide |= std::abs(row[c]) > kSinCosLimit;
    if (is_wide != 0) {
      for (int64_t c = 0; c < count; ++c) {
        sines[c] = factor * std::sin(row[c]);
        cosines[c] = factor * std::cos(row[c]);
      }
      continue;
    }
    for (int64_t c = 0; c < count; ++c) {
      float sine, cosine;
      SinCos(row[c], &sine, &cosine);
      sines[c] = factor * sine;
      cosines[c] = factor * cosine;
    }
  }
}

inline LRA_ALWAYS_INLINE void AngleGradientTileBody(RowsView gradient, RowsView phi, int64_t rows,
                                                    int64_t count, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    const float *g = gradient.data + r * gradient.stride, *f = phi.data + r * phi.stride;
    float* to = out + r * count;
    for (int64_t c = 0; c < count; ++c) to[c] = g[c] * f[count + c] - g[count + c] * f[c];
  }
}

inline LRA_ALWAYS_INLINE void UnitInputTileBody(const bool* keep, float* through, const float* unit,
                                                const float* inverse_norms, const float* sigma,
                                                int64_t rows, int64_t width, RowsView out,
                                                float* sigma_gradient) {
  for (int64_t r = 0; r < rows; ++r) {
    float *t = through + r * width, *to = out.data + r * out.stride;
    const float* u = unit + r * width;
    if (IsMasked(keep, r)) {
      std::fill_n(to, width, 0.0f);
      continue;
    }
    for (int64_t c = 0; c < width; ++c) sigma_gradient[c] += t[c] * u[c];
    for (int64_t c = 0; c < width; ++c) t[c] *= sigma[c];
    const float along = DotLanes(u, t, width), inverse = inverse_norms[r];
    for (int64_t c = 0; c < width; ++c) to[c] = (t[c] - u[c] * along) * inverse;
  }
}

}  // namespace

LRA_MULTIVERSION(ScaledTile,
                 (RowsView x, const bool* keep, int64_t rows, int64_t width, float scale,
                  float* out, float* half_squares),
                 (x, keep, rows, width, scale, out, half_squares))
LRA_MULTIVERSION(KeyLogTile,
                 (const bool* keep, const float* half_squares, int64_t rows, int64_t features,
                  float* logs, float* largest),
                 (keep, half_squares, rows, features, logs, largest))
LRA_MULTIVERSION(KeyExpTile,
                 (const bool* keep, const float* shift, int64_t rows, int64_t features,
                  float* logs),
                 (keep, shift, rows, features, logs))
LRA_MULTIVERSION(QueryTile, (const float* shift, int64_t rows, int64_t features, float* logs),
                 (shift, rows, features, logs))
LRA_MULTIVERSION(LogGradientTile,
                 (RowsView gradient, RowsView phi, int64_t rows, int64_t features, float* out,
                  float* sums),
                 (gradient, phi, rows, features, out, sums))
LRA_MULTIVERSION(PositiveInputTile,
                 (RowsView x, const bool* keep, const float* through, const float* sums,
                  int64_t rows, int64_t width, float scale, RowsView out),
                 (x, keep, through, sums, rows, width, scale, out))
LRA_MULTIVERSION(UnitTile,
                 (RowsView x, const bool* keep, int64_t rows, int64_t width, float* unit,
                  float* inverse_norms),
                 (x, keep, rows, width, unit, inverse_norms))
LRA_MULTIVERSION(SigmaTile,
                 (const float* unit, const float* sigma, int64_t rows, int64_t width, float* out),
                 (unit, sigma, rows, width, out))
LRA_MULTIVERSION(SinCosTile,
                 (const float* angles, int64_t rows, int64_t count, float factor, float* out),
                 (angles, rows, count, factor, out))
LRA_MULTIVERSION(AngleGradientTile,
                 (RowsView gradient, RowsView phi, int64_t rows, int64_t count, float* out),
                 (gradient, phi, rows, count, out))
LRA_MULTIVERSION(UnitInputTile,
                 (const bool* keep, float* through, const float* unit, const float* inverse_norms,
                  const float* sigma, int64_t rows, int64_t width, RowsView out,
                  float* sigma_gradient),
                 (keep, through, unit, inverse_norms, sigma, rows, width, out, sigma_gradient))

}  // namespace lra::feature_tiles
