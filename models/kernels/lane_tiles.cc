// This file is built with contraction into fused multiply-adds (models/CMakeLists.txt), as is
// softmax_attention_tiles.cc.
#include "models/kernels/lane_tiles.h"

#include <algorithm>

#include "models/kernels/four_by_four.h"
#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

inline LRA_ALWAYS_INLINE void StoreLanes(Lanes v, float* p) { *reinterpret_cast<Lanes*>(p) = v; }

// Comparisons are plain loops: GCC takes those of Lanes apart where registers are shorter.
inline LRA_ALWAYS_INLINE void RaiseToHighestBody(int64_t keys, int64_t lanes, const float* tile,
                                                 float* highest) {
  for (int64_t lane = 0; lane < lanes; lane += kLanesWidth) {
    float best[kLanesWidth];
    for (int64_t i = 0; i < kLanesWidth; ++i) best[i] = highest[lane + i];
    const float* row = tile + lane;
    for (int64_t j = 0; j < keys; ++j, row += lanes) {
      for (int64_t i = 0; i < kLanesWidth; ++i) best[i] = row[i] > best[i] ? row[i] : best[i];
    }
    for (int64_t i = 0; i < kLanesWidth; ++i) highest[lane + i] = best[i];
  }
}

inline LRA_ALWAYS_INLINE void ExponentiateLanesBody(int64_t keys, int64_t lanes, const float* shift,
                                                    float* tile, float* sum) {
  for (int64_t lane = 0; lane < lanes; lane += kLanesWidth) {
    float minus[kLanesWidth], total[kLanesWidth] = {};
    for (int64_t i = 0; i < kLanesWidth; ++i) minus[i] = shift[lane + i];
    float* row = tile + lane;
    for (int64_t j = 0; j < keys; ++j, row += lanes) {
      for (int64_t i = 0; i < kLanesWidth; ++i) {
        const float weight = Exp2(row[i] - minus[i]);
        row[i] = weight;
        total[i] += weight;
      }
    }
    for (int64_t i = 0; i < kLanesWidth; ++i) sum[lane + i] += total[i];
  }
}

inline LRA_ALWAYS_INLINE void ScaleLanesBody(int64_t keys, int64_t lanes, const float* factor,
                                             float* tile) {
  for (int64_t j = 0; j < keys; ++j, tile += lanes) {
    for (int64_t lane = 0; lane < lanes; lane += kLanesWidth)
      StoreLanes(LoadLanes(tile + lane) * LoadLanes(factor + lane), tile + lane);
  }
}

inline LRA_ALWAYS_INLINE void AddLaneProductsBody(int64_t keys, int64_t lanes, const float* weights,
                                                  const float* gradients, float* sum) {
  for (int64_t lane = 0; lane < lanes; lane += kLanesWidth) {
    Lanes total = LoadLanes(sum + lane);
    for (int64_t j = 0; j < keys; ++j)
      total += LoadLanes(weights + j * lanes + lane) * LoadLanes(gradients + j * lanes + lane);
    StoreLanes(total, sum + lane);
  }
}

inline LRA_ALWAYS_INLINE void LaneScoreGradientsBody(int64_t keys, int64_t lanes,
                                                     const float* factor, const float* row_sum,
                                                     float* weights, float* gradients) {
  for (int64_t j = 0; j < keys; ++j, weights += lanes, gradients += lanes) {
    for (int64_t lane = 0; lane < lanes; lane += kLanesWidth) {
      const Lanes weight = LoadLanes(weights + lane) * LoadLanes(factor + lane);
      StoreLanes(weight, weights + lane);
      StoreLanes(weight * (LoadLanes(gradients + lane) - LoadLanes(row_sum + lane)),
                 gradients + lane);
    }
  }
}

inline LRA_ALWAYS_INLINE void AddTapProductsBody(int64_t rows, int64_t width, const float* a,
                                                 const float* b, float* sums) {
  Lanes totals[kTapBlock];
  for (int64_t t = 0; t < kTapBlock; ++t) totals[t] = LoadLanes(sums + t * kLanesWidth);
  for (int64_t c = 0; c < width; c += kLanesWidth) {
    for (int64_t n = 0; n < rows; ++n) {
      const Lanes factor = LoadLanes(a + n * width + c);
#pragma GCC unroll 12
      for (int64_t t = 0; t < kTapBlock; ++t)
        totals[t] += factor * LoadLanes(b + (n + t) * width + c);
    }
  }
  for (int64_t t = 0; t < kTapBlock; ++t) StoreLanes(totals[t], sums + t * kLanesWidth);
}

inline LRA_ALWAYS_INLINE void PackLanesBody(const LaneShape& s, const float* rows, int64_t stride,
                                            const int32_t* index, float factor, float* out) {
  if (s.count < s.lanes) std::fill(out, out + s.width * s.lanes, 0.0f);
  const auto row = [&](int64_t q) { return rows + (index == nullptr ? q : index[q]) * stride; };
  int64_t q = 0;
  for (; q + 4 <= s.count; q += 4) {
    const float* four[] = {row(q), row(q + 1), row(q + 2), row(q + 3)};
    int64_t c = 0;
    for (; c + 4 <= s.width; c += 4) {
      FourRows block;
      for (int i = 0; i < 4; ++i)
        block.row[i] = factor * *reinterpret_cast<const Four*>(four[i] + c);
      StoreFour(Transposed(block), out + c * s.lanes + q, s.lanes);
    }
    for (; c < s.width; ++c) {
      for (int64_t i = 0; i < 4; ++i) out[c * s.lanes + q + i] = factor * four[i][c];
    }
  }
  for (; q < s.count; ++q) {
    for (int64_t c = 0; c < s.width; ++c) out[c * s.lanes + q] = factor * row(q)[c];
  }
}

}  // namespace

LRA_MULTIVERSION(PackLanes,
                 (const LaneShape& shape, const float* rows, int64_t stride, const int32_t* index,
                  float factor, float* out),
                 (shape, rows, stride, index, factor, out))
LRA_MULTIVERSION(RaiseToHighest, (int64_t keys, int64_t lanes, const float* tile, float* highest),
                 (keys, lanes, tile, highest))
LRA_MULTIVERSION(ExponentiateLanes,
                 (int64_t keys, int64_t lanes, const float* shift, float* tile, float* sum),
                 (keys, lanes, shift, tile, sum))
LRA_MULTIVERSION(ScaleLanes, (int64_t keys, int64_t lanes, const float* factor, float* tile),
                 (keys, lanes, factor, tile))
LRA_MULTIVERSION(AddLaneProducts,
                 (int64_t keys, int64_t lanes, const float* weights, const float* gradients,
                  float* sum),
                 (keys, lanes, weights, gradients, sum))
LRA_MULTIVERSION(LaneScoreGradients,
                 (int64_t keys, int64_t lanes, const float* factor, const float* row_sum,
                  float* weights, float* gradients),
                 (keys, lanes, factor, row_sum, weights, gradients))
LRA_MULTIVERSION(AddTapProducts,
                 (int64_t rows, int64_t width, const float* a, const float* b, float* sums),
                 (rows, width, a, b, sums))

}  // namespace lra
