// The pieces of tiled softmax attention that run in vector registers. A tile of scores is
// transposed, [key][query], with kQueryTile queries side by side in the lanes. So whatever belongs
// to a row of the attention matrix (maximum, sum, normaliser) is a plain vector.
#ifndef LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_TILES_H_
#define LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_TILES_H_

#include <cstdint>

#include "models/kernels/dropout.h"
#include "models/kernels/tile_product.h"

namespace lra {

constexpr int64_t kQueryTile = kDropoutTileQueries;  // 48: three AVX-512 registers
constexpr int64_t kKeyTile = 64;

// The score of hidden keys: finite, so that differences are finite, and far below any real score.
constexpr float kHiddenScore = -1e30f;

// Sets tile[j][q] = kHiddenScore where first + j >= visible[q].
void HideKeys(int64_t keys, int64_t first, const int32_t* visible, float* tile);
// Subtracts slope |query + q - key_j| from tile[j][q], where key_j is key[j], or first_key + j if
// `key` is null.
void SubtractDistances(int64_t keys, int64_t first_key, const int32_t* key, int64_t query,
                       float slope, float* tile);
// highest[q] = the largest tile[j][q].
void HighestScores(int64_t keys, const float* tile, float* highest);
// Replaces tile by 2^(tile - shift), exactly 0 below 2^-125, and adds the sums over the keys to
// sum[q].
void ExponentiateTile(int64_t keys, const float* shift, float* tile, float* sum);
// Sets tile to 0 where bits[j][q] < threshold.
void DropWeights(int64_t keys, uint32_t threshold, const uint16_t* bits, float* tile);

// With weights P and their gradients before dropout G, computes G = P (mask G - row_sum[q]) and P =
// mask P, where mask is `scale` or 0.
void ScoreGradients(int64_t keys, const float* row_sum, float* weights, float* gradients);
void ScoreGradientsWithDropout(int64_t keys, const float* row_sum, uint32_t threshold, float scale,
                               const uint16_t* bits, float* weights, float* gradients);

// out = factor * rows, [count][width] -> [padded_count][padded_width], with zeros elsewhere. The
// rows are those listed in `index`, or consecutive ones if it is null.
struct PackShape {
  int64_t count, padded_count, width, padded_width;
};
void PackRows(const PackShape& shape, const float* rows, int64_t stride, const int32_t* index,
              float factor, float* out);
// Does the same transposed: out [width][kQueryTile].
void PackColumns(int64_t count, int64_t width, const float* rows, int64_t stride, float factor,
                 float* out);
// rows[q][c] = columns[c][q] * factor[q].
void UnpackColumns(int64_t count, int64_t width, const float* columns, const float* factor,
                   float* rows, int64_t stride);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_TILES_H_
