#include "models/kernels/linear_attention_tiles.h"

#include <algorithm>

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

// phi'(x) from phi(x).
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

template <FeatureMap kMap>
inline LRA_ALWAYS_INLINE void FeatureLoop(const TileShape& shape, RowsView x, const bool* keep,
                                          int64_t rows, float* out) {
  const int64_t width = shape.width;
  const float slope = shape.slope;
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x.data + r * x.stride;
    float* features = out + r * width;
    if (keep != nullptr && !keep[r]) {
      std::fill_n(features, width, 0.0f);
      continue;
    }
    for (int64_t c = 0; c < width; ++c) features[c] = Feature<kMap>(in[c], slope);
  }
}

inline LRA_ALWAYS_INLINE void FeatureTileBody(const TileShape& shape, RowsView x, const bool* keep,
                                              int64_t rows, float* out) {
  switch (shape.map) {
    case FeatureMap::kEluPlusOne:
      return FeatureLoop<FeatureMap::kEluPlusOne>(shape, x, keep, rows, out);
    case FeatureMap::kRelu:
      return FeatureLoop<FeatureMap::kRelu>(shape, x, keep, rows, out);
    case FeatureMap::kLeakyRelu:
      return FeatureLoop<FeatureMap::kLeakyRelu>(shape, x, keep, rows, out);
    case FeatureMap::kIdentity:
      return FeatureLoop<FeatureMap::kIdentity>(shape, x, keep, rows, out);
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

inline LRA_ALWAYS_INLINE void SlopeTileBody(const TileShape& shape, const float* features,
                                            const float* gradient, int64_t rows, RowsView out) {
  switch (shape.map) {
    case FeatureMap::kEluPlusOne:
      return SlopeLoop<FeatureMap::kEluPlusOne>(shape, features, gradient, rows, out);
    case FeatureMap::kRelu:
      return SlopeLoop<FeatureMap::kRelu>(shape, features, gradient, rows, out);
    case FeatureMap::kLeakyRelu:
      return SlopeLoop<FeatureMap::kLeakyRelu>(shape, features, gradient, rows, out);
    case FeatureMap::kIdentity:
      return SlopeLoop<FeatureMap::kIdentity>(shape, features, gradient, rows, out);
  }
}

inline LRA_ALWAYS_INLINE void ValueTileBody(const TileShape& shape, RowsView v, const bool* keep,
                                            Angles angles, int64_t rows, float* out) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = v.data + r * v.stride;
    float* to = out + r * shape.state_width;
    if (keep != nullptr && !keep[r]) {
      std::fill_n(to, shape.state_width, 0.0f);
      continue;
    }
    const float cosine = angles.cosine != nullptr ? angles.cosine[r] : 1.0f;
    for (int64_t c = 0; c < width; ++c) to[c] = in[c] * cosine;
    to[width] = cosine;
    if (angles.cosine == nullptr) continue;
    const float sine = angles.sine[r];
    for (int64_t c = 0; c < width; ++c) to[width + 1 + c] = in[c] * sine;
    to[2 * width + 1] = sine;
  }
}

inline LRA_ALWAYS_INLINE float InverseRowSum(const TileShape& shape, float sum) {
  const float safe =
      shape.is_clamped ? (sum < shape.epsilon ? shape.epsilon : sum) : sum + shape.epsilon;
  return safe == 0 ? 0.0f : 1.0f / safe;
}

inline LRA_ALWAYS_INLINE void OutputTileBody(const TileShape& shape, const float* products,
                                             Angles angles, int64_t rows, RowsView out,
                                             float* row_sum) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = products + r * shape.state_width;
    const float* second = in + width + 1;
    float* to = out.data + r * out.stride;
    if (angles.cosine == nullptr) {
      row_sum[r] = in[width];
      const float inverse = InverseRowSum(shape, row_sum[r]);
      for (int64_t c = 0; c < width; ++c) to[c] = in[c] * inverse;
      continue;
    }
    const float cosine = angles.cosine[r], sine = angles.sine[r];
    row_sum[r] = in[width] * cosine + second[width] * sine;
    const float inverse = InverseRowSum(shape, row_sum[r]);
    for (int64_t c = 0; c < width; ++c) to[c] = (in[c] * cosine + second[c] * sine) * inverse;
  }
}

inline LRA_ALWAYS_INLINE void ProductGradientTileBody(const TileShape& shape, RowsView gradient,
                                                      RowsView output, const float* row_sum,
                                                      Angles angles, int64_t rows, float* out) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* g = gradient.data + r * gradient.stride;
    float* to = out + r * shape.state_width;
    const float inverse = InverseRowSum(shape, row_sum[r]);
    const bool flows = !shape.is_clamped || !(row_sum[r] < shape.epsilon);
    const float sum_gradient =
        flows ? -DotLanes(g, output.data + r * output.stride, width) * inverse : 0.0f;
    const float cosine = angles.cosine != nullptr ? angles.cosine[r] : 1.0f;
    const float scale = inverse * cosine;
    for (int64_t c = 0; c < width; ++c) to[c] = g[c] * scale;
    to[width] = sum_gradient * cosine;
    if (angles.cosine == nullptr) continue;
    const float second = inverse * angles.sine[r];
    for (int64_t c = 0; c < width; ++c) to[width + 1 + c] = g[c] * second;
    to[2 * width + 1] = sum_gradient * angles.sine[r];
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
                 (const TileShape& shape, RowsView x, const bool* keep, int64_t rows, float* out),
                 (shape, x, keep, rows, out))
LRA_MULTIVERSION(SlopeTile,
                 (const TileShape& shape, const float* features, const float* gradient,
                  int64_t rows, RowsView out),
                 (shape, features, gradient, rows, out))
LRA_MULTIVERSION(ValueTile,
                 (const TileShape& shape, RowsView v, const bool* keep, Angles angles, int64_t rows,
                  float* out),
                 (shape, v, keep, angles, rows, out))
LRA_MULTIVERSION(OutputTile,
                 (const TileShape& shape, const float* products, Angles angles, int64_t rows,
                  RowsView out, float* row_sum),
                 (shape, products, angles, rows, out, row_sum))
LRA_MULTIVERSION(ProductGradientTile,
                 (const TileShape& shape, RowsView gradient, RowsView output, const float* row_sum,
                  Angles angles, int64_t rows, float* out),
                 (shape, gradient, output, row_sum, angles, rows, out))
LRA_MULTIVERSION(ValueGradientTile,
                 (const TileShape& shape, const float* gradient, Angles angles, int64_t rows,
                  RowsView out),
                 (shape, gradient, angles, rows, out))

}  // namespace lra
