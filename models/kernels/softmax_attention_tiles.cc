// This file is built with contraction into fused multiply-adds (models/CMakeLists.txt), so results
// may differ in the last bits between instruction sets.
#include "models/kernels/softmax_attention_tiles.h"

#include <algorithm>

#include "models/kernels/four_by_four.h"
#include "models/kernels/prefetch.h"
#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

inline LRA_ALWAYS_INLINE void HideKeysBody(int64_t keys, int64_t first, const int32_t* visible,
                                           float* tile) {
  for (int64_t j = 0; j < keys; ++j, tile += kQueryTile) {
    const int32_t key = static_cast<int32_t>(first + j);
    for (int64_t q = 0; q < kQueryTile; ++q) tile[q] = key < visible[q] ? tile[q] : kHiddenScore;
  }
}

inline LRA_ALWAYS_INLINE void SubtractDistancesBody(int64_t keys, int64_t first_key,
                                                    const int32_t* key, int64_t query, float slope,
                                                    float* tile) {
  for (int64_t j = 0; j < keys; ++j, tile += kQueryTile) {
    const auto ahead = static_cast<int32_t>(query - (key == nullptr ? first_key + j : key[j]));
    for (int32_t q = 0; q < kQueryTile; ++q) {
      const int32_t distance = ahead + q;
      tile[q] -= slope * static_cast<float>(distance < 0 ? -distance : distance);
    }
  }
}

inline LRA_ALWAYS_INLINE void HighestScoresBody(int64_t keys, const float* tile, float* highest) {
  float best[kQueryTile];
  for (int64_t q = 0; q < kQueryTile; ++q) best[q] = tile[q];
  for (int64_t j = 1; j < keys; ++j) {
    tile += kQueryTile;
    for (int64_t q = 0; q < kQueryTile; ++q) best[q] = tile[q] > best[q] ? tile[q] : best[q];
  }
  for (int64_t q = 0; q < kQueryTile; ++q) highest[q] = best[q];
}

inline LRA_ALWAYS_INLINE void ExponentiateTileBody(int64_t keys, const float* shift, float* tile,
                                                   float* sum) {
  float total[kQueryTile] = {};
  for (int64_t j = 0; j < keys; ++j, tile += kQueryTile) {
    for (int64_t q = 0; q < kQueryTile; ++q) {
      const float weight = Exp2(tile[q] - shift[q]);
      tile[q] = weight;
      total[q] += weight;
    }
  }
  for (int64_t q = 0; q < kQueryTile; ++q) sum[q] += total[q];
}

inline LRA_ALWAYS_INLINE void DropWeightsBody(int64_t keys, uint32_t threshold,
                                              const uint16_t* bits, float* tile) {
  for (int64_t i = 0; i < keys * kQueryTile; ++i) tile[i] = bits[i] >= threshold ? tile[i] : 0.0f;
}

inline LRA_ALWAYS_INLINE void ScoreGradientsBody(int64_t keys, const float* row_sum, float* weights,
                                                 float* gradients) {
  for (int64_t j = 0; j < keys; ++j, weights += kQueryTile, gradients += kQueryTile) {
    for (int64_t q = 0; q < kQueryTile; ++q)
      gradients[q] = weights[q] * (gradients[q] - row_sum[q]);
  }
}

inline LRA_ALWAYS_INLINE void ScoreGradientsWithDropoutBody(int64_t keys, const float* row_sum,
                                                            uint32_t threshold, float scale,
                                                            const uint16_t* bits, float* weights,
                                                            float* gradients) {
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t q = 0; q < kQueryTile; ++q) {
      const float mask = bits[q] >= threshold ? scale : 0.0f;
      gradients[q] = weights[q] * (mask * gradients[q] - row_sum[q]);
      weights[q] = mask * weights[q];
    }
    bits += kQueryTile;
    weights += kQueryTile;
    gradients += kQueryTile;
  }
}

}  // namespace

LRA_MULTIVERSION(HideKeys, (int64_t keys, int64_t first, const int32_t* visible, float* tile),
                 (keys, first, visible, tile))
LRA_MULTIVERSION(SubtractDistances,
                 (int64_t keys, int64_t first_key, const int32_t* key, int64_t query, float slope,
                  float* tile),
                 (keys, first_key, key, query, slope, tile))
LRA_MULTIVERSION(HighestScores, (int64_t keys, const float* tile, float* highest),
                 (keys, tile, highest))
LRA_MULTIVERSION(ExponentiateTile, (int64_t keys, const float* shift, float* tile, float* sum),
                 (keys, shift, tile, sum))
LRA_MULTIVERSION(DropWeights, (int64_t keys, uint32_t threshold, const uint16_t* bits, float* tile),
                 (keys, threshold, bits, tile))
LRA_MULTIVERSION(ScoreGradients,
                 (int64_t keys, const float* row_sum, float* weights, float* gradients),
                 (keys, row_sum, weights, gradients))
LRA_MULTIVERSION(ScoreGradientsWithDropout,
                 (int64_t keys, const float* row_sum, uint32_t threshold, float scale,
                  const uint16_t* bits, float* weights, float* gradients),
                 (keys, row_sum, threshold, scale, bits, weights, gradients))

void PackRows(const PackShape& shape, const float* rows, int64_t stride, const int32_t* index,
              float factor, float* out) {
  const auto row_at = [&](int64_t r) { return rows + (index == nullptr ? r : index[r]) * stride; };
  for (int64_t r = 0; r < shape.padded_count; ++r, out += shape.padded_width) {
    int64_t filled = 0;
    if (r + kRowsAhead < shape.count) PrefetchRow(row_at(r + kRowsAhead), shape.width);
    if (r < shape.count) {
      const float* row = row_at(r);
      for (; filled + 4 <= shape.width; filled += 4) {
        *reinterpret_cast<Four*>(out + filled) =
            factor * *reinterpret_cast<const Four*>(row + filled);
      }
      for (; filled < shape.width; ++filled) out[filled] = factor * row[filled];
    }
    std::fill(out + filled, out + shape.padded_width, 0.0f);
  }
}

void PackColumns(int64_t count, int64_t width, const float* rows, int64_t stride, float factor,
                 float* out) {
  if (count < kQueryTile) std::fill(out, out + width * kQueryTile, 0.0f);
  int64_t q = 0;
  for (; q + 4 <= count; q += 4) {
    for (int64_t r = q + kRowsAhead; r < std::min(q + kRowsAhead + 4, count); ++r)
      PrefetchRow(rows + r * stride, width);
    int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      FourRows block = LoadFour(rows + q * stride + c, stride);
      for (Four& row : block.row) row *= factor;
      StoreFour(Transposed(block), out + c * kQueryTile + q, kQueryTile);
    }
    for (; c < width; ++c) {
      for (int64_t r = q; r < q + 4; ++r) out[c * kQueryTile + r] = factor * rows[r * stride + c];
    }
  }
  for (; q < count; ++q) {
    for (int64_t c = 0; c < width; ++c) out[c * kQueryTile + q] = factor * rows[q * stride + c];
  }
}

void UnpackColumns(int64_t count, int64_t width, const float* columns, const float* factor,
                   float* rows, int64_t stride) {
  int64_t q = 0;
  for (; q + 4 <= count; q += 4) {
    int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      FourRows block = Transposed(LoadFour(columns + c * kQueryTile + q, kQueryTile));
      for (int i = 0; i < 4; ++i) block.row[i] *= factor[q + i];
      StoreFour(block, rows + q * stride + c, stride);
    }
    for (; c < width; ++c) {
      for (int64_t r = q; r < q + 4; ++r)
        rows[r * stride + c] = columns[c * kQueryTile + r] * factor[r];
    }
  }
  for (; q < count; ++q) {
    for (int64_t c = 0; c < width; ++c)
      rows[q * stride + c] = columns[c * kQueryTile + q] * factor[q];
  }
}

}  // namespace lra
