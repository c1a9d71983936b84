// The loops of random features over one tile of tokens: plain float memory, one thread
// (fused_random_features.cc). keep: of the tile's tokens, may be null.
#ifndef LRA_MODELS_KERNELS_RANDOM_FEATURE_TILES_H_
#define LRA_MODELS_KERNELS_RANDOM_FEATURE_TILES_H_

#include <cstdint>

#include "models/kernels/linear_attention_tiles.h"

namespace lra::feature_tiles {

// scale * x, 0 for masked tokens -> out [rows, width]; half of each row's square.
void ScaledTile(RowsView x, const bool* keep, int64_t rows, int64_t width, float scale, float* out,
                float* half_squares);

// Products w . x -> logarithms of features, in place; the kept rows' largest of each feature.
void KeyLogTile(const bool* keep, const float* half_squares, int64_t rows, int64_t features,
                float* logs, float* largest);

// Logarithms of keys -> exp(logarithm - shift), in place; 0 for masked tokens.
void KeyExpTile(const bool* keep, const float* shift, int64_t rows, int64_t features, float* logs);

// Products w . x -> features under the keys' shift, in place. What is common to a row cancels.
void QueryTile(const float* shift, int64_t rows, int64_t features, float* logs);

// Gradient of features -> of their logarithms [rows, features]; the sum of each row.
void LogGradientTile(RowsView gradient, RowsView phi, int64_t rows, int64_t features, float* out,
                     float* sums);

// Gradient through w . x' [rows, width] -> of x, x' = scale x.
void PositiveInputTile(RowsView x, const bool* keep, const float* through, const float* sums,
                       int64_t rows, int64_t width, float scale, RowsView out);

// x / |x|, 0 for masked tokens and for 0 -> unit [rows, width]; 1 / |x|, 1 for 0.
void UnitTile(RowsView x, const bool* keep, int64_t rows, int64_t width, float* unit,
              float* inverse_norms);

// sigma x^ of each row; out may be unit.
void SigmaTile(const float* unit, const float* sigma, int64_t rows, int64_t width, float* out);

// Angles [rows, count] -> out [rows, 2 count]: factor * [sines, cosines].
void SinCosTile(const float* angles, int64_t rows, int64_t count, float factor, float* out);

// Gradient of [sines, cosines] -> of the angles [rows, count].
void AngleGradientTile(RowsView gradient, RowsView phi, int64_t rows, int64_t count, float* out);

// Gradient of sigma unit [rows, width] -> of x; adds to sigma's.
void UnitInputTile(const bool* keep, float* through, const float* unit, const float* inverse_norms,
                   const float* sigma, int64_t rows, int64_t width, RowsView out,
                   float* sigma_gradient);

}  // namespace lra::feature_tiles

#endif  // LRA_MODELS_KERNELS_RANDOM_FEATURE_TILES_H_
