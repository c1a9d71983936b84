// drop(f(y W1 + b1)) W2 + b2 on tiles of tokens, forward and back: dense float32 on the CPU.
#ifndef LRA_MODELS_LAYERS_MLP_TILE_H_
#define LRA_MODELS_LAYERS_MLP_TILE_H_

#include <cstdint>
#include <optional>

#include "models/base/product_type.h"
#include "models/kernels/dropout.h"
#include "models/kernels/floats.h"
#include "models/kernels/linear_map.h"
#include "models/layers/layer_pieces.h"

namespace lra::internal {

// Scratch memory of one thread for tiles of hidden vectors.
struct MlpScratch {
  MlpScratch(int64_t hidden_width, bool makes_hidden);
  Floats activation, gradient, again;
};

// `tokens` is N, by which the mask of the hidden vectors is drawn. Threads may share both ways.
class MlpForward {
 public:
  MlpForward(const OutputMlpParameters& p, const DropoutKey& dropout, int64_t tokens,
             ProductType type);
  // y [rows, E], whose first is token `first` of the batch -> the pre-activation u [rows, M] and
  // out [rows, E]. activation [rows, M] is for scratch.
  void Rows(const float* y, int64_t first, int64_t rows, float* activation, float* u,
            float* out) const;

 private:
  const ActivationKind kind_;
  const DropoutRows mask_;
  const int64_t hidden_width_;
  const ForwardMap hidden_, projection_;
};

// The gradients of an MLP's parameters, summed up tile by tile.
struct MlpGradients {
  MlpGradients(const OutputMlpParameters& p, ProductType type)
      : hidden(p.hidden, type), projection(p.projection, type) {}
  MapGradient hidden, projection;
};

class MlpBackward {
 public:
  MlpBackward(const OutputMlpParameters& p, const DropoutKey& dropout, int64_t tokens,
              ProductType type, bool makes_hidden);
  // From the gradient [rows, E] of out to dy [rows, E], which may be the same memory; u is null
  // where it is made again, if `makes_hidden`.
  void Rows(const float* y, const float* u, const float* gradient, int64_t first, int64_t rows,
            int64_t shard, MlpScratch* scratch, MlpGradients* sums, float* dy) const;

 private:
  const ActivationKind kind_;
  const LinearMap hidden_map_, projection_map_;
  const DropoutRows mask_;
  const int64_t hidden_width_;
  const BackwardMap hidden_, projection_;
  const std::optional<ForwardMap> hidden_again_;
};

}  // namespace lra::internal

#endif  // LRA_MODELS_LAYERS_MLP_TILE_H_
