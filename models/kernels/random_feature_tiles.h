// The loops of random features over one tile of tokens, on plain float memory and one thread.
// `keep` belongs to the tile's tokens and may be null.
#ifndef LRA_MODELS_KERNELS_RANDOM_FEATURE_TILES_H_
#define LRA_MODELS_KERNELS_RANDOM_FEATURE_TILES_H_

#include <cstdint>

#include "models/kernels/linear_attention_tiles.h"

namespace lra::feature_tiles {

// scale * x -> out [rows, width], 0 for masked tokens; also half of the square of each row.
void ScaledTile(RowsView x, const bool* keep, int64_t rows, int64_t width, float scale, float* out,
                float* half_squares);

// Turns products w . x into logarithms of features, in place; also finds the largest of each
// feature over the kept rows.
void KeyLogTile(const bool* keep, const float* half_squares, int64_t rows, int64_t features,
                float* logs, float* largest);

// Turns logarithms of keys into exp(logarithm - shift), in place; 0 for masked tokens.
void KeyExpTile(const bool* keep, const float* shift, int64_t rows, int64_t features, float* logs);

// Turns products w . x into features under the keys' shift, in place. Factors common to a row
// cancel.
void QueryTile(const float* shift, int64_t rows, int64_t features, float* logs);

// From the gradient of features to that of their logarithms [rows, features]; also the sum of each
// row.
void LogGradientTile(RowsView gradient, RowsView phi, int64_t rows, int64_t features, float* out,
                     float* sums);

// From the gradient through w . x' [rows, width] to that of x, where x' = scale x.
void PositiveInputTile(RowsView x, const bool* keep, const float* through, const float* sums,
                       int64_t rows, int64_t width, float scale, RowsView out);

// x / |x| -> unit [rows, width], 0 for masked tokens and for 0; also 1 / |x|, which is 1 for 0.
void UnitTile(RowsView x, const bool* keep, int64_t rows, int64_t width, float* unit,
              float* inverse_norms);

// sigma times the unit vector of each row; out may be unit.
void SigmaTile(const float* unit, const float* sigma, int64_t rows, int64_t width, float* out);

// Angles [rows, count] -> out [rows, 2 count]: factor * [sines, cosines].
void SinCosTile(const float* angles, int64_t rows, int64_t count, float factor, float* out);

// From the gradient of [sines, cosines] to that of the angles [rows, count].
void AngleGradientTile(RowsView gradient, RowsView phi, int64_t rows, int64_t count, float* out);

// From the gradient of sigma unit [rows, width] to that of x; adds to sigma's gradient.
void UnitInputTile(const bool* keep, float* through, const float* unit, const float* inverse_norms,
                   const float* sigma, int64_t rows, int64_t width, RowsView out,
                   float* sigma_gradient);

}  // namespace lra::feature_tiles

#endif  // LRA_MODELS_KERNELS_RANDOM_FEATURE_TILES_H_
