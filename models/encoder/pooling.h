// [B, N, E] -> [B, E]: the final LayerNorm and the pooling, which share the choice of rows; and the
// classifier's head.
#ifndef LRA_MODELS_ENCODER_POOLING_H_
#define LRA_MODELS_ENCODER_POOLING_H_

#include <ATen/core/Tensor.h>

#include "lra/config.pb.h"
#include "models/encoder/layer_pieces.h"
#include "models/parameters.h"

namespace lra {

class Pooling {
 public:
  Pooling(const ModelConfig& config, ParameterStore* parameters);
  // MEAN: over the kept tokens; CLS and FIRST: the first position. keep [B, N] bool or undefined
  // (all kept).
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& keep) const;

 private:
  bool reads_first_;
  NormMap norm_;
};

// Dense, ReLU, Dense; LeCun normal, biases 0.
class Head {
 public:
  Head(const ModelConfig& config, int64_t classes, ParameterStore* parameters);
  at::Tensor Forward(const at::Tensor& pooled) const;  // [B, C]

 private:
  LinearMap hidden_, logits_;
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_POOLING_H_
