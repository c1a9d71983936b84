// float32 on the CPU: for each (example, head), tiles of tokens that stay in the cache. The keys' pass sums the state
// S = sum_j phi(k_j) [v_j, 1]; the queries' pass applies it. The backward mirrors this.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "models/kernels/gemm.h"
#include "models/kernels/linear_attention.h"
#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

constexpr int64_t kTile = 256;  // tokens

// Rows of one (example, head); the last dimension is dense.
struct RowsView {
  float* data;
  int64_t stride;
};

// What a tile's loops need to know.
struct TileShape {
  FeatureMap map;
  float slope;
  bool is_clamped;
  float epsilon;
  int64_t width;        // D
  int64_t value_width;  // Dv
  int64_t state_width;  // W: Dv + 1, with angles twice that
};

struct Angles {  // of the tile's first token; null = none
  const float* cosine = nullptr;
  const float* sine = nullptr;
};

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
inline LRA_ALWAYS_INLINE void FeatureLoop(const TileShape& shape, RowsView x, const bool* keep, int64_t rows,
                                          float* out) {
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

// phi(x) of a tile, zero rows for masked tokens -> out [rows, D].
inline LRA_ALWAYS_INLINE void FeatureTileBody(const TileShape& shape, RowsView x, const bool* keep, int64_t rows,
                                              float* out) {
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
inline LRA_ALWAYS_INLINE void SlopeLoop(const TileShape& shape, const float* features, const float* gradient,
                                        int64_t rows, RowsView out) {
  const int64_t width = shape.width;
  const float slope = shape.slope;
  for (int64_t r = 0; r < rows; ++r) {
    float* to = out.data + r * out.stride;
    for (int64_t c = 0; c < width; ++c) {
      to[c] = gradient[r * width + c] * Slope<kMap>(features[r * width + c], slope);
    }
  }
}

// Chains a gradient of features [rows, D] through phi.
inline LRA_ALWAYS_INLINE void SlopeTileBody(const TileShape& shape, const float* features, const float* gradient,
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
  }
}

// [v, 1], with angles [cos v, cos | sin v, sin]; zero rows for masked tokens -> out [rows, W].
inline LRA_ALWAYS_INLINE void ValueTileBody(const TileShape& shape, RowsView v, const bool* keep, Angles angles,
                                            int64_t rows, float* out) {
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
  const float safe = shape.is_clamped ? (sum < shape.epsilon ? shape.epsilon : sum) : sum + shape.epsilon;
  return safe == 0 ? 0.0f : 1.0f / safe;
}

// Products with the state [rows, W] -> normalised output rows and their row sums.
inline LRA_ALWAYS_INLINE void OutputTileBody(const TileShape& shape, const float* products, Angles angles,
                                             int64_t rows, RowsView out, float* row_sum) {
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

// Gradient of the output -> gradient of the products with the state [rows, W].
inline LRA_ALWAYS_INLINE void ProductGradientTileBody(const TileShape& shape, RowsView gradient, RowsView output,
                                                      const float* row_sum, Angles angles, int64_t rows,
                                                      float* out) {
  const int64_t width = shape.value_width;
  for (int64_t r = 0; r < rows; ++r) {
    const float* g = gradient.data + r * gradient.stride;
    float* to = out + r * shape.state_width;
    const float inverse = InverseRowSum(shape, row_sum[r]);
    const bool flows = !shape.is_clamped || !(row_sum[r] < shape.epsilon);
    const float sum_gradient = flows ? -DotLanes(g, output.data + r * output.stride, width) * inverse : 0.0f;
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

// Gradient of [v, 1] (with angles of both halves) -> gradient of v.
inline LRA_ALWAYS_INLINE void ValueGradientTileBody(const TileShape& shape, const float* gradient, Angles angles,
                                                    int64_t rows, RowsView out) {
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

LRA_MULTIVERSION(FeatureTile, (const TileShape& shape, RowsView x, const bool* keep, int64_t rows, float* out),
                 (shape, x, keep, rows, out))
LRA_MULTIVERSION(SlopeTile,
                 (const TileShape& shape, const float* features, const float* gradient, int64_t rows, RowsView out),
                 (shape, features, gradient, rows, out))
LRA_MULTIVERSION(ValueTile,
                 (const TileShape& shape, RowsView v, const bool* keep, Angles angles, int64_t rows, float* out),
                 (shape, v, keep, angles, rows, out))
LRA_MULTIVERSION(OutputTile,
                 (const TileShape& shape, const float* products, Angles angles, int64_t rows, RowsView out,
                  float* row_sum),
                 (shape, products, angles, rows, out, row_sum))
LRA_MULTIVERSION(ProductGradientTile,
                 (const TileShape& shape, RowsView gradient, RowsView output, const float* row_sum, Angles angles,
                  int64_t rows, float* out),
                 (shape, gradient, output, row_sum, angles, rows, out))
LRA_MULTIVERSION(ValueGradientTile,
                 (const TileShape& shape, const float* gradient, Angles angles, int64_t rows, RowsView out),
                 (shape, gradient, angles, rows, out))

// A [B, H, N, *] tensor whose last dimension is dense.
class Heads {
 public:
  explicit Heads(const at::Tensor& tensor) : tensor_(tensor.stride(-1) == 1 ? tensor : tensor.contiguous()) {}
  // Rows of (example, head) from token `first`.
  RowsView Rows(int64_t example, int64_t head, int64_t first) const {
    const int64_t at = example * tensor_.stride(0) + head * tensor_.stride(1) + first * tensor_.stride(2);
    return {const_cast<float*>(tensor_.const_data_ptr<float>()) + at, tensor_.stride(2)};
  }

 private:
  at::Tensor tensor_;
};

at::Tensor EmptyHeads(const at::Tensor& like, int64_t width) {  // [B, H, N, width], laid out [B, N, H, width]
  return at::empty({like.size(0), like.size(2), like.size(1), width}, like.options()).transpose(1, 2);
}

class AngleTable {
 public:
  explicit AngleTable(const at::Tensor& angles) {
    if (!angles.defined()) return;
    cosine_ = angles.cos().to(at::kFloat).contiguous();
    sine_ = angles.sin().to(at::kFloat).contiguous();
    stride_ = angles.dim() == 2 ? angles.size(1) : 0;
  }
  Angles At(int64_t example, int64_t token) const {
    if (!cosine_.defined()) return {};
    const int64_t at = example * stride_ + token;
    return {cosine_.const_data_ptr<float>() + at, sine_.const_data_ptr<float>() + at};
  }

 private:
  at::Tensor cosine_, sine_;
  int64_t stride_ = 0;
};

class KeepTable {
 public:
  explicit KeepTable(const at::Tensor& keep) {
    if (keep.defined()) keep_ = keep.contiguous();
  }
  const bool* At(int64_t example, int64_t token) const {
    return keep_.defined() ? keep_.const_data_ptr<bool>() + example * keep_.size(1) + token : nullptr;
  }

 private:
  at::Tensor keep_;
};

TileShape MakeShape(const at::Tensor& q, const at::Tensor& v, const LinearAttentionSpec& spec) {
  TileShape shape;
  shape.map = spec.feature_map;
  shape.slope = static_cast<float>(spec.leaky_slope);
  shape.is_clamped = spec.denominator == Denominator::kClamp;
  shape.epsilon = static_cast<float>(spec.epsilon);
  shape.width = q.size(3);
  shape.value_width = v.size(3);
  shape.state_width = (v.size(3) + 1) * (spec.query_angles.defined() ? 2 : 1);
  return shape;
}

// body(first, rows) for the tiles of n tokens.
template <class Body>
void ForTiles(int64_t n, Body body) {
  for (int64_t first = 0; first < n; first += kTile) body(first, std::min(kTile, n - first));
}

// body(example, head, index) in parallel.
template <class Body>
void ForHeads(const at::Tensor& q, Body body) {
  const int64_t heads = q.size(1);
  at::parallel_for(0, q.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / heads, i % heads, i);
  });
}

}  // namespace

namespace internal {

LinearAttentionState ForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const at::Tensor& keep, const LinearAttentionSpec& spec) {
  const TileShape shape = MakeShape(q, v, spec);
  const int64_t width = shape.width, state_width = shape.state_width, n = q.size(2);
  LinearAttentionState state;
  state.output = EmptyHeads(q, shape.value_width);
  state.row_sum = at::empty({q.size(0), q.size(1), n}, q.options());
  state.key_state = at::zeros({q.size(0), q.size(1), width, state_width}, q.options());
  const Heads queries(q), keys(k), values(v), output(state.output);
  const AngleTable query_angles(spec.query_angles), key_angles(spec.key_angles);
  const KeepTable keep_table(keep);
  float* row_sums = state.row_sum.mutable_data_ptr<float>();
  float* key_states = state.key_state.mutable_data_ptr<float>();
  ForHeads(q, [&](int64_t example, int64_t head, int64_t index) {
    std::vector<float> features(kTile * width), wide(kTile * state_width);
    float* key_state = key_states + index * width * state_width;
    ForTiles(k.size(2), [&](int64_t first, int64_t rows) {
      const bool* kept = keep_table.At(example, first);
      FeatureTile(shape, keys.Rows(example, head, first), kept, rows, features.data());
      ValueTile(shape, values.Rows(example, head, first), kept, key_angles.At(example, first), rows, wide.data());
      Gemm(width, state_width, rows, {features.data(), width, true}, {wide.data(), state_width}, 1.0f, key_state,
           state_width);
    });
    ForTiles(n, [&](int64_t first, int64_t rows) {
      FeatureTile(shape, queries.Rows(example, head, first), nullptr, rows, features.data());
      Gemm(rows, state_width, width, {features.data(), width}, {key_state, state_width}, 0.0f, wide.data(),
           state_width);
      OutputTile(shape, wide.data(), query_angles.At(example, first), rows, output.Rows(example, head, first),
                 row_sums + index * n + first);
    });
  });
  return state;
}

LinearAttentionGradients BackwardTiled(const at::Tensor& gradient, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const at::Tensor& keep, const LinearAttentionSpec& spec,
                                       const LinearAttentionState& state) {
  const TileShape shape = MakeShape(q, v, spec);
  const int64_t width = shape.width, state_width = shape.state_width, n = q.size(2);
  const LinearAttentionGradients result = {EmptyHeads(q, width), EmptyHeads(k, width),
                                           EmptyHeads(v, shape.value_width)};
  const Heads queries(q), keys(k), values(v), output(state.output), upstream(gradient);
  const Heads query_gradient(result.q), key_gradient(result.k), value_gradient(result.v);
  const AngleTable query_angles(spec.query_angles), key_angles(spec.key_angles);
  const KeepTable keep_table(keep);
  const float* row_sums = state.row_sum.const_data_ptr<float>();
  const float* key_states = state.key_state.const_data_ptr<float>();
  ForHeads(q, [&](int64_t example, int64_t head, int64_t index) {
    std::vector<float> features(kTile * width), feature_gradient(kTile * width), wide(kTile * state_width);
    std::vector<float> wide_gradient(kTile * state_width), state_gradient(width * state_width, 0.0f);
    const float* key_state = key_states + index * width * state_width;
    ForTiles(n, [&](int64_t first, int64_t rows) {
      ProductGradientTile(shape, upstream.Rows(example, head, first), output.Rows(example, head, first),
                          row_sums + index * n + first, query_angles.At(example, first), rows, wide.data());
      FeatureTile(shape, queries.Rows(example, head, first), nullptr, rows, features.data());
      Gemm(width, state_width, rows, {features.data(), width, true}, {wide.data(), state_width}, 1.0f,
           state_gradient.data(), state_width);
      Gemm(rows, width, state_width, {wide.data(), state_width}, {key_state, state_width, true}, 0.0f,
           feature_gradient.data(), width);
      SlopeTile(shape, features.data(), feature_gradient.data(), rows, query_gradient.Rows(example, head, first));
    });
    ForTiles(k.size(2), [&](int64_t first, int64_t rows) {
      const bool* kept = keep_table.At(example, first);
      const Angles angles = key_angles.At(example, first);
      FeatureTile(shape, keys.Rows(example, head, first), kept, rows, features.data());
      ValueTile(shape, values.Rows(example, head, first), kept, angles, rows, wide.data());
      // Masked rows are zero in both factors, and so are their gradients.
      Gemm(rows, width, state_width, {wide.data(), state_width}, {state_gradient.data(), state_width, true}, 0.0f,
           feature_gradient.data(), width);
      SlopeTile(shape, features.data(), feature_gradient.data(), rows, key_gradient.Rows(example, head, first));
      Gemm(rows, state_width, width, {features.data(), width}, {state_gradient.data(), state_width}, 0.0f,
           wide_gradient.data(), state_width);
      ValueGradientTile(shape, wide_gradient.data(), angles, rows, value_gradient.Rows(example, head, first));
    });
  });
  return result;
}

}  // namespace internal
}  // namespace lra
