// [B, N, E] -> [B, E]: the final norm and the pooling, which share the choice of rows.
#ifndef LRA_MODELS_ENCODER_POOLING_H_
#define LRA_MODELS_ENCODER_POOLING_H_

#include <ATen/core/Tensor.h>

#include <optional>

#include "lra/config.pb.h"
#include "models/encoder/norm.h"
#include "models/parameters.h"

namespace lra {

class Pooling {
 public:
  // Creates encoder.norm.*, unless norms stand behind the blocks (model.norm_placement AFTER): the
  // last layer's output is normalised then.
  Pooling(const ModelConfig& config, ParameterStore* parameters);

  // real [B, N] bool or undefined (all real). MEAN: over the real positions, 0 where there are
  // none; CLS and FIRST: the first position, real or not; LAST_TOKEN: the last real position, or
  // the last one where none is real; MEAN_OF_ALL: over all N; SUM_OVER_N: the sum over the real
  // ones, divided by N.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& real, BatchStatistics statistics) const;

 private:
  ModelConfig::Pooling kind_;
  std::optional<Norm> norm_;
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_POOLING_H_
