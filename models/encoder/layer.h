// One pre-LN encoder layer around any registered attention.
#ifndef LRA_MODELS_ENCODER_LAYER_H_
#define LRA_MODELS_ENCODER_LAYER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "lra/config.pb.h"
#include "models/attention/attention.h"
#include "models/encoder/layer_pieces.h"
#include "models/kernels/dropout.h"
#include "models/parameters.h"

namespace lra {

// What dropout in a forward pass depends on beside the place; probabilities are 0 in evaluation.
struct DropoutRun {
  float probability = 0;
  float weight_probability = 0;  // on attention weights
  uint32_t seed = 0;
  uint32_t step = 0;
  at::Tensor example_ids;  // [B] int64
  bool is_training = false;

  DropoutKey Key(uint32_t site, float p) const { return {p, seed, step, site, example_ids}; }
};

class EncoderLayer {
 public:
  // Parameters are named encoder.layer<index>.*. InvalidArgument for an unknown attention, its
  // options, attention dropout on a method without explicit weights, or a causal mask where there
  // is none. max_length_tokens includes CLS.
  static absl::StatusOr<EncoderLayer> Create(const ExperimentConfig& config, int64_t index,
                                             int64_t max_length_tokens, ParameterStore* parameters);

  // x [B, N, E], keep [B, N] bool or undefined (no padding) -> [B, N, E].
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& keep, const DropoutRun& dropout) const;

  // The attention's own output, [B, H, N, D]: the first half of Forward(). Always in the type of x.
  at::Tensor Attend(const at::Tensor& x, const at::Tensor& keep, const DropoutRun& dropout) const;

  // What Forward() gives to the attention, for attention maps.
  AttentionInput InputOfAttention(const at::Tensor& x, const at::Tensor& keep,
                                  const DropoutRun& dropout) const;
  const Attention& attention() const { return *attention_; }

 private:
  class Scope;
  void AddProjections(const ModelConfig& model, const Scope& scope);

  int64_t index_ = 0;
  bool is_causal_ = false;
  NormQkvParameters qkv_;
  OutputMlpParameters output_;
  std::shared_ptr<const Attention> attention_;
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_LAYER_H_
