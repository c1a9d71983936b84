// The loops of linear attention over one tile of tokens, on plain float memory and one thread.
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

// What the loops over a tile need to know.
struct TileShape {
  FeatureMap map;
  float slope;
  float norm_epsilon;
  Denominator denominator;
  float epsilon;
  float floor_ratio;
  int64_t width;        // D
  int64_t value_width;  // Dv
  int64_t state_width;  // W: Dv + 1, or twice that with angles; with zeros up to whole vectors
};

struct Angles {  // of the tile's first token; null = none
  const float* cosine = nullptr;
  const float* sine = nullptr;
};

// phi(x) of a tile -> out [rows, D]; rows of masked tokens are zero (keep may be null). For kUnit
// it also writes the inverse norms [rows] that SlopeTile needs, 0 for masked tokens.
void FeatureTile(const TileShape& shape, RowsView x, const bool* keep, int64_t rows, float* out,
                 float* inverse_norms);

// Takes a gradient with respect to features [rows, D] through phi, given phi(x).
void SlopeTile(const TileShape& shape, const float* features, const float* inverse_norms,
               const float* gradient, int64_t rows, RowsView out);

// For kSignedFloor: the floors [rows] of the row sums of queries with these features, given the
// keys' state [D, W]. For other denominators it does nothing.
void FloorTile(const TileShape& shape, const float* features, const float* key_state, int64_t rows,
               float* floors);

// [v, 1], or with angles [cos v, cos | sin v, sin] -> out [rows, W]; rows of masked tokens are
// zero.
void ValueTile(const TileShape& shape, RowsView v, const bool* keep, Angles angles, int64_t rows,
               float* out);

// From products with the state [rows, W] to normalised output rows and their row sums.
void OutputTile(const TileShape& shape, const float* products, const float* floors, Angles angles,
                int64_t rows, RowsView out, float* row_sum);

// From the gradient of the output to that of the products with the state [rows, W].
void ProductGradientTile(const TileShape& shape, RowsView gradient, RowsView output,
                         const float* row_sum, const float* floors, Angles angles, int64_t rows,
                         float* out);

// From the gradient of [v, 1] (with angles, of both halves) to that of v.
void ValueGradientTile(const TileShape& shape, const float* gradient, Angles angles, int64_t rows,
                       RowsView out);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_TILES_H_
