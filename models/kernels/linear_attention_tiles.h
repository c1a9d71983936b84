// The loops of linear attention over one tile of tokens: plain float memory, one thread
// (linear_attention_tiled.cc).
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_TILES_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_TILES_H_

#include <cstdint>

#include "models/kernels/linear_attention.h"

namespace lra {

// Rows of one (example, head); the last dimension is dense.
struct RowsView {
  float* data;
  int64_t stride;
};

// What a tile's loops need to know.
struct TileShape {
  FeatureMap map;
  float slope;
  float norm_epsilon;
  Denominator denominator;
  float epsilon;
  float floor_ratio;
  int64_t width;        // D
  int64_t value_width;  // Dv
  int64_t state_width;  // W: Dv + 1, with angles twice that
};

struct Angles {  // of the tile's first token; null = none
  const float* cosine = nullptr;
  const float* sine = nullptr;
};

// phi(x) of a tile, zero rows for masked tokens (keep may be null) -> out [rows, D]. kUnit also
// leaves the inverse norms [rows] that SlopeTile needs, 0 for masked tokens.
void FeatureTile(const TileShape& shape, RowsView x, const bool* keep, int64_t rows, float* out,
                 float* inverse_norms);

// Chains a gradient of features [rows, D] through phi, given phi(x).
void SlopeTile(const TileShape& shape, const float* features, const float* inverse_norms,
               const float* gradient, int64_t rows, RowsView out);

// kSignedFloor: the floors [rows] of the row sums of queries with these features, under the keys'
// state [D, W]. Nothing for other denominators.
void FloorTile(const TileShape& shape, const float* features, const float* key_state, int64_t rows,
               float* floors);

// [v, 1], with angles [cos v, cos | sin v, sin]; zero rows for masked tokens -> out [rows, W].
void ValueTile(const TileShape& shape, RowsView v, const bool* keep, Angles angles, int64_t rows,
               float* out);

// Products with the state [rows, W] -> normalised output rows and their row sums.
void OutputTile(const TileShape& shape, const float* products, const float* floors, Angles angles,
                int64_t rows, RowsView out, float* row_sum);

// Gradient of the output -> gradient of the products with the state [rows, W].
void ProductGradientTile(const TileShape& shape, RowsView gradient, RowsView output,
                         const float* row_sum, const float* floors, Angles angles, int64_t rows,
                         float* out);

// Gradient of [v, 1] (with angles of both halves) -> gradient of v.
void ValueGradientTile(const TileShape& shape, const float* gradient, Angles angles, int64_t rows,
                       RowsView out);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_TILES_H_
