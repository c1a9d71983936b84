// Softmax over tiles of scores whose number of lanes follows the group of queries, for attention
// within groups of tokens; its matrix products are MultiplyTile() of tile_product.h. A
// tile is [key][lane], with the queries in the lanes; `lanes` is a multiple of kLanesWidth.
#ifndef LRA_MODELS_KERNELS_LANE_TILES_H_
#define LRA_MODELS_KERNELS_LANE_TILES_H_

#include <cstdint>

namespace lra {

constexpr int64_t kMostLanes = 64;

// out [width][lanes] = factor * the rows listed in `index` (null: consecutive ones), transposed.
// Lanes from `count` on become 0.
struct LaneShape {
  int64_t count, lanes, width;
};
void PackLanes(const LaneShape& shape, const float* rows, int64_t stride, const int32_t* index,
               float factor, float* out);

// highest[q] = the largest of highest[q] and tile[j][q].
void RaiseToHighest(int64_t keys, int64_t lanes, const float* tile, float* highest);

// Replaces tile by 2^(tile - shift), exactly 0 below 2^-125, and adds the sums over the keys to
// sum[q].
void ExponentiateLanes(int64_t keys, int64_t lanes, const float* shift, float* tile, float* sum);

// tile[j][q] *= factor[q].
void ScaleLanes(int64_t keys, int64_t lanes, const float* factor, float* tile);

// sum[q] += sum_j weights[j][q] gradients[j][q].
void AddLaneProducts(int64_t keys, int64_t lanes, const float* weights, const float* gradients,
                     float* sum);

// With P = factor[q] * weights: weights = P, and their gradients G = P (G - row_sum[q]).
void LaneScoreGradients(int64_t keys, int64_t lanes, const float* factor, const float* row_sum,
                        float* weights, float* gradients);

// sums[t][i] += sum_n sum_c a[n][16 c + i] b[n + t][16 c + i] for t < kTapBlock: a [rows][width], b
// [rows + kTapBlock - 1][width]; width is a multiple of 16.
constexpr int64_t kTapBlock = 12;
void AddTapProducts(int64_t rows, int64_t width, const float* a, const float* b, float* sums);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LANE_TILES_H_
