// One encoder layer around any registered attention. Layer norms before each block run in the fast
// pieces; batch norms and norms behind the blocks in a generic composition.
#ifndef LRA_MODELS_ENCODER_LAYER_H_
#define LRA_MODELS_ENCODER_LAYER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "lra/config.pb.h"
#include "models/attention/attention.h"
#include "models/encoder/layer_pieces.h"
#include "models/encoder/norm.h"
#include "models/kernels/dropout.h"
#include "models/parameters.h"

namespace lra {

// What dropout and norms in a forward pass depend on beside the place; probabilities are 0 in
// evaluation.
struct DropoutRun {
  float probability = 0;
  float weight_probability = 0;  // on attention weights
  uint32_t seed = 0;
  uint32_t step = 0;
  at::Tensor example_ids;  // [B] int64
  bool is_training = false;
  uint32_t first_site = 0;  // kSecondTextSites for second texts
  BatchStatistics statistics = BatchStatistics::kRunning;

  DropoutKey Key(uint32_t site, float p) const {
    return {p, seed, step, first_site + site, example_ids};
  }
};

class EncoderLayer {
 public:
  // Parameters are named encoder.layer<index>.*. InvalidArgument for an unknown attention, its
  // options, attention dropout on a method without explicit weights, or a causal mask where there
  // is none. max_length_tokens includes CLS.
  static absl::StatusOr<EncoderLayer> Create(const ExperimentConfig& config, int64_t index,
                                             int64_t max_length_tokens, ParameterStore* parameters);

  // x [B, N, E], real [B, N] bool or undefined (no padding) -> [B, N, E]. What padding does is
  // model.mask's say:
  //   KEYS     the attention's keep is `real`;
  //   OUTER    as KEYS, and a padded query weighs all N positions alike, padded ones included: what
  //            -1e10 added to its whole row of scores comes to. Methods without a value projection
  //            (Projections::kNone) treat it as KEYS;
  //   NO_MASK  the attention has no keep.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& real, const DropoutRun& dropout) const;

  // The attention's own output, [B, H, N, D]: the first half of Forward(). Always in the type of x.
  at::Tensor Attend(const at::Tensor& x, const at::Tensor& real, const DropoutRun& dropout) const;

  // What Forward() gives to the attention, for attention maps.
  AttentionInput InputOfAttention(const at::Tensor& x, const at::Tensor& real,
                                  const DropoutRun& dropout) const;
  const Attention& attention() const { return *attention_; }

 private:
  class Scope;
  void AddProjections(const ModelConfig& model, const Scope& scope);
  bool IsFused() const { return !is_post_norm_ && attention_norm_.is_layer_norm(); }
  at::Tensor ForwardGeneric(const at::Tensor& attended, const at::Tensor& x, const at::Tensor& real,
                            const OutputMlpDropout& keys, BatchStatistics statistics) const;

  int64_t index_ = 0;
  bool is_causal_ = false;
  bool is_post_norm_ = false;
  ModelConfig::Mask mask_ = ModelConfig::KEYS;
  Norm attention_norm_, mlp_norm_;
  NormQkvParameters qkv_;
  OutputMlpParameters output_;
  std::shared_ptr<const Attention> attention_;
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_LAYER_H_
