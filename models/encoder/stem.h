// Local features of neighbouring tokens, made before positions are added: a depthwise convolution,
// GELU and a linear map, added to the token's own vector.
//   y = x + W gelu(conv(x) + b) + c
// The filters see model.stem_tokens tokens around each, or up to it under attention.causal.
#ifndef LRA_MODELS_ENCODER_STEM_H_
#define LRA_MODELS_ENCODER_STEM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lra/config.pb.h"
#include "models/base/parameters.h"
#include "models/layers/layer_pieces.h"

namespace lra {

class Stem {
 public:
  // model.stem_tokens must be above 0. Creates embedding.stem.filter [W, E] and .filter_bias [E],
  // embedding.stem.map.weight [E, E] and .bias.
  Stem(const ExperimentConfig& config, ParameterStore* parameters);

  // x [B, N, E]; real [B, N] bool or undefined. Padded tokens count as zeros to their neighbours,
  // unless model.mask is NO_MASK; their own rows stay finite for finite inputs.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& real) const;

  // Streaming, under attention.causal: Forward() of a piece without padding, x [B, T, E] with
  // T >= 1. *window is what InitWindow() gives, and moves on: what the filters read of the tokens
  // in front of the next piece, [B, W - 1, E].
  at::Tensor InitWindow(int64_t batch, const at::TensorOptions& options) const;
  at::Tensor Extend(const at::Tensor& x, at::Tensor* window) const;

 private:
  at::Tensor WithFeatures(const at::Tensor& x, const at::Tensor& filtered) const;

  const bool is_masked_, is_causal_;
  at::Tensor filters_, filter_bias_;
  LinearMap map_;
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_STEM_H_
