#include "models/kernels/linear_attention_tiles.h"

#include <algorithm>
#include <cmath>

#include "models/kernels/prefetch.h"
#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

template <FeatureMap kMap>
inline LRA_ALWAYS_INLINE float Feature(float x, float slope) {
  if constexpr (kMap == FeatureMap::kEluPlusOne) {
    return (x > 0 ? x : 0.0f) + ExpNonPositive(x > 0 ? 0.0f : x);
  } else if constexpr (kMap == FeatureMap::kRelu) {
    return x < 0 ? 0.0f : x;  // NaN stays NaN
  } else if constexpr (kMap == FeatureMap::kLeakyRelu) {
    return x < 0 ? slope * x : x;
  } else {
    return x;
  }
}

// phi'(x), computed from phi(x).
template <FeatureMap kMap>
inline LRA_ALWAYS_INLINE float Slope(float feature, float slope) {
  if constexpr (kMap == FeatureMap::kEluPlusOne) {
    return feature < 1 ? feature : 1.0f;
  } else if constexpr (kMap == FeatureMap::kRelu) {
    return feature > 0 ? 1.0f : 0.0f;
  } else if constexpr (kMap == FeatureMap::kLeakyRelu) {
    return feature > 0 ? 1.0f : slope;
  } else {
    return 1.0f;
  }
}

// Writes x / |x| for one row and returns 1 / |x|.
inline LRA_ALWAYS_INLINE float UnitRow(const float* x, int64_t width, float norm_epsilon,
                                       float* out) {
  const float squares = DotLanes(x, x, width) + norm_epsilon;
  const float inverse = squares == 0 ? 0.0f : 1.0f / std::sqrt(squares);
  for (int64_t c = 0; c < width; ++c) out[c] = x[c] * inverse;
  return inverse;
}

template <FeatureMap kMap>
inline LRA_ALWAYS_INLINE void FeatureLoop(const TileShape& shape, RowsView x, const bool* keep,
                                          int64_t rows, float* out, float* inverse_norms) {
  const int64_t width = shape.width;
  const float slope = shape.slope;
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x.data + r * x.stride;
    PrefetchRow(in + kRowsAhead * x.stride, width);
    float* features = out + r * width;
    if (keep != nullptr && !keep[r]) {
      std::fill_n(features, width, 0.0f);
      inverse_norms[r] = 0.0f;
      continue;
    }
    if constexpr (kMap == FeatureMap::kUnit) {
      inverse_norms[r] = UnitRow(in, width, shape.norm_epsilon, features);
    } else {
      for (int64_t c = 0; c < width; ++c) features[c] = Feature<kMap>(in[c], slope);
    }
  }
}

inline LRA_ALWAYS_INLINE void FeatureTileBody(const TileShape& shape, RowsView x, const bool* keep,
                                              int64_t rows, float* out, float* inverse_norms) {
  switch (shape.map) {
    case FeatureMap::kEluPlusOne:
      return FeatureLoop<FeatureMap::kEluPlusOne>(shape, x, keep, rows, out, inverse_norms);
    case FeatureMap::kRelu:
      return FeatureLoop<FeatureMap::kRelu>(shape, x, keep, rows, out, inverse_norms);
    case FeatureMap::kLeakyRelu:
      return FeatureLoop<FeatureMap::kLeakyRelu>(shape, x, keep, rows, out, inverse_norms);
    case FeatureMap::kIdentity:
      return FeatureLoop<FeatureMap::kIdentity>(shape, x, keep, rows, out, inverse_norms);
    case FeatureMap::kUnit:
      return FeatureLoop<FeatureMap::kUnit>(shape, x, keep, rows, out, inverse_norms);
  }
}

template <FeatureMap kMap>
inline LRA_ALWAYS_INLINE void SlopeLoop(const TileShape& shape, const float* features,
                                        const float* gradient, int64_t rows, RowsView out) {
  const int64_t width = shape.width;
  const float slope = shape.slope;
  for (int64_t r = 0; r < rows; ++r) {
    float* to = out.data + r * out.stride;
    for (int64_t c = 0; c < width; ++c) {
      to[c] = gradient[r * width + c] * Slope<kMap>(features[r * width + c], slope);
    }
  }
}

inline LRA_ALWAYS_INLINE void UnitSlopeLoop(const TileShape& shape, const float* features,
                                            const float* inverse_norms, const float* gradient,
                                            int64_t rows, RowsView out) {
  const int64_t width = shape.width;
  for (int64_t r = 0; r < rows; ++r) {
    const float *unit = features + r * width, *g = gradient + r * width;
    float* to = out.data + r * out.stride;
    const float along = DotLanes(unit, g, width), inverse = inverse_norms[r];
    for (int64_t c = 0; c < width; ++c) to[c] = (g[c] - unit[c] * along) * inverse;
  }
}

inline LRA_ALWAYS_INLINE void SlopeTileBody(const TileShape& shape, const float* features,
                                            const float* inverse_norms, const float* gradient,
                                            int64_t rows, RowsView out) {
  switch (shape.map) {
    case FeatureMap::kEluPlusOne:
      return SlopeLoop<FeatureMap::kEluPlusOne>(shape, features, gradient, rows, out);
    case FeatureMap::kRelu:
      return SlopeLoop<FeatureMap::kRelu>(shape, features, gradient, rows, out);
    case FeatureMap::kLeakyRelu:
      return SlopeLoop<FeatureMap::kLeakyRelu>(shape, features, gradient, rows, out);
    case FeatureMap::kIdentity:
      return SlopeLoop<FeatureMap::kIdentity>(shape, features, gradient, rows, out);
    case FeatureMap::kUnit:
      return UnitSlopeLoop(shape, features, inverse_norms, gradient, rows, out);
  }
}

// Zeros behind the columns of a row that are used.
inline LRA_ALWAYS_INLINE void FillBehind(const TileShape& shape, Angles angles, float* row) {
  const int64_t used = (shape.value_width + 1) * (angles.cosine != nullptr ? 2 : 1);
  for (int64_t c = used; c < shape.state_width; ++c) row[c] = 0.0f;
}

inline LRA_ALWAYS_INLINE void ValueTileBody(const TileShape& shape, RowsView v, const bool* keep,
                                            Angles angles, int64_t rows, float* out) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = v.data + r * v.stride;
    PrefetchRow(in + kRowsAhead * v.stride, width);
    float* to = out + r * shape.state_width;
    if (keep != nullptr && !keep[r]) {
      std::fill_n(to, shape.state_width, 0.0f);
      continue;
    }
    const float cosine = angles.cosine != nullptr ? angles.cosine[r] : 1.0f;
    for (int64_t c = 0; c < width; ++c) to[c] = in[c] * cosine;
    to[width] = cosine;
    if (angles.cosine != nullptr) {
      const float sine = angles.sine[r];
      for (int64_t c = 0; c < width; ++c) to[width + 1 + c] = in[c] * sine;
      to[2 * width + 1] = sine;
    }
    FillBehind(shape, angles, to);
  }
}

inline LRA_ALWAYS_INLINE void FloorTileBody(const TileShape& shape, const float* features,
                                            const float* key_state, int64_t rows, float* floors) {
  if (shape.denominator != Denominator::kSignedFloor) return;
  float squares = 0;
  for (int64_t c = 0; c < shape.width; ++c) {  // the columns of ones
    for (int64_t w = shape.value_width; w < shape.state_width; w += shape.value_width + 1) {
      const float sum = key_state[c * shape.state_width + w];
      squares += sum * sum;
    }
  }
  const float scale = shape.floor_ratio * std::sqrt(squares);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = features + r * shape.width;
    floors[r] = std::max(shape.epsilon, scale * std::sqrt(DotLanes(row, row, shape.width)));
  }
}

struct RowNormalizer {
  float inverse;  // 1 / (safe row sum)
  bool flows;     // whether the row sum has a gradient
};

inline LRA_ALWAYS_INLINE RowNormalizer NormalizeRow(const TileShape& shape, float sum,
                                                    float floor) {
  float safe = 1.0f;
  bool flows = false;
  switch (shape.denominator) {
    case Denominator::kPlus:
      safe = sum + shape.epsilon;
      flows = true;
      break;
    case Denominator::kClamp:
      flows = !(sum < shape.epsilon);
      safe = flows ? sum : shape.epsilon;
      break;
    case Denominator::kSignedFloor:
      flows = !(std::abs(sum) < floor);
      safe = flows ? sum : (sum < 0 ? -floor : floor);
      break;
    case Denominator::kNone:
      break;
  }
  return {std::abs(safe) < kSmallestRowSum<float> ? 0.0f : 1.0f / safe, flows};
}

inline LRA_ALWAYS_INLINE void OutputTileBody(const TileShape& shape, const float* products,
                                             const float* floors, Angles angles, int64_t rows,
                                             RowsView out, float* row_sum) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = products + r * shape.state_width;
    const float* second = in + width + 1;
    float* to = out.data + r * out.stride;
    if (angles.cosine == nullptr) {
      row_sum[r] = in[width];
      const float inverse = NormalizeRow(shape, row_sum[r], floors[r]).inverse;
      for (int64_t c = 0; c < width; ++c) to[c] = in[c] * inverse;
      continue;
    }
    const float cosine = angles.cosine[r], sine = angles.sine[r];
    row_sum[r] = in[width] * cosine + second[width] * sine;
    const float inverse = NormalizeRow(shape, row_sum[r], floors[r]).inverse;
    for (int64_t c = 0; c < width; ++c) to[c] = (in[c] * cosine + second[c] * sine) * inverse;
  }
}

inline LRA_ALWAYS_INLINE void ProductGradientTileBody(const TileShape& shape, RowsView gradient,
                                                      RowsView output, const float* row_sum,
                                                      const float* floors, Angles angles,
                                                      int64_t rows, float* out) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* g = gradient.data + r * gradient.stride;
    PrefetchRow(g + kRowsAhead * gradient.stride, width);
    PrefetchRow(output.data + (r + kRowsAhead) * output.stride, width);
    float* to = out + r * shape.state_width;
    const auto [inverse, flows] = NormalizeRow(shape, row_sum[r], floors[r]);
    const float sum_gradient =
        flows ? -DotLanes(g, output.data + r * output.stride, width) * inverse : 0.0f;
    const float cosine = angles.cosine != nullptr ? angles.cosine[r] : 1.0f;
    const float scale = inverse * cosine;
    for (int64_t c = 0; c < width; ++c) to[c] = g[c] * scale;
    to[width] = sum_gradient * cosine;
    if (angles.cosine != nullptr) {
      const float second = inverse * angles.sine[r];
      for (int64_t c = 0; c < width; ++c) to[width + 1 + c] = g[c] * second;
      to[2 * width + 1] = sum_gradient * angles.sine[r];
    }
    FillBehind(shape, angles, to);
  }
}

inline LRA_ALWAYS_INLINE void ValueGradientTileBody(const TileShape& shape, const float* gradient,
                                                    Angles angles, int64_t rows, RowsView out) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = gradient + r * shape.state_width;
    float* to = out.data + r * out.stride;
    if (angles.cosine == nullptr) {
      std::copy_n(in, width, to);
      continue;
    }
    const float cosine = angles.cosine[r], sine = angles.sine[r];
    const float* second = in + width + 1;
    for (int64_t c = 0; c < width; ++c) to[c] = in[c] * cosine + second[c] * sine;
  }
}

}  // namespace

LRA_MULTIVERSION(FeatureTile,
                 (const TileShape& shape, RowsView x, const bool* keep, int64_t rows, float* out,
                  float* inverse_norms),
                 (shape, x, keep, rows, out, inverse_norms))
LRA_MULTIVERSION(SlopeTile,
                 (const TileShape& shape, const float* features, const float* inverse_norms,
                  const float* gradient, int64_t rows, RowsView out),
                 (shape, features, inverse_norms, gradient, rows, out))
LRA_MULTIVERSION(FloorTile,
                 (const TileShape& shape, const float* features, const float* key_state,
                  int64_t rows, float* floors),
                 (shape, features, key_state, rows, floors))
LRA_MULTIVERSION(ValueTile,
                 (const TileShape& shape, RowsView v, const bool* keep, Angles angles, int64_t rows,
                  float* out),
                 (shape, v, keep, angles, rows, out))
LRA_MULTIVERSION(OutputTile,
                 (const TileShape& shape, const float* products, const float* floors, Angles angles,
                  int64_t rows, RowsView out, float* row_sum),
                 (shape, products, floors, angles, rows, out, row_sum))
LRA_MULTIVERSION(ProductGradientTile,
                 (const TileShape& shape, RowsView gradient, RowsView output, const float* row_sum,
                  const float* floors, Angles angles, int64_t rows, float* out),
                 (shape, gradient, output, row_sum, floors, angles, rows, out))
LRA_MULTIVERSION(ValueGradientTile,
                 (const TileShape& shape, const float* gradient, Angles angles, int64_t rows,
                  RowsView out),
                 (shape, gradient, angles, rows, out))

}  // namespace lra
