// What the tiled forms of the pieces of a layer share (models/layers/layer_pieces.h).
#ifndef LRA_MODELS_LAYERS_NORM_TILE_H_
#define LRA_MODELS_LAYERS_NORM_TILE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kernels/floats.h"
#include "models/kernels/rows.h"
#include "models/kernels/token_tiles.h"
#include "models/layers/norm.h"

namespace lra::internal {

// Null where the tensor is undefined.
inline const float* Data(const at::Tensor& t) {
  return t.defined() ? t.const_data_ptr<float>() : nullptr;
}

// Scratch memory for the normalised rows of a tile.
struct NormTile {
  explicit NormTile(int64_t width) : y(kTileTokens * width), mean(kTileTokens), rstd(kTileTokens) {}
  void Forward(const float* x, int64_t rows, const NormMap& norm) {
    LayerNormRows(x, rows, norm.weight.size(0), Data(norm.weight), Data(norm.bias),
                  static_cast<float>(norm.epsilon), y.get(), mean.get(), rstd.get());
  }
  // dx = residual (may be null) + gradient through Forward().
  void Backward(const float* x, const float* dy, int64_t rows, const NormMap& norm,
                const float* residual, int64_t shard, ShardedGradient* weight,
                ShardedGradient* bias, float* dx) const {
    LayerNormBackwardRows(x, dy, rows, norm.weight.size(0), Data(norm.weight), mean.get(),
                          rstd.get(), residual, dx, weight->At(shard), bias->At(shard));
  }
  Floats y, mean, rstd;
};

}  // namespace lra::internal

#endif  // LRA_MODELS_LAYERS_NORM_TILE_H_
