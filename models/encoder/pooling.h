// The final norm and the pooling, [B, N, E] -> [B, E]. They are together because both depend on
// which rows are read.
#ifndef LRA_MODELS_ENCODER_POOLING_H_
#define LRA_MODELS_ENCODER_POOLING_H_

#include <ATen/core/Tensor.h>

#include <optional>

#include "lra/config.pb.h"
#include "models/base/parameters.h"
#include "models/layers/norm.h"

namespace lra {

class Pooling {
 public:
  // Creates encoder.norm.*, unless norms come after the blocks (model.norm_placement AFTER) without
  // model.final_norm, in which case the last layer's output is already normalised; encoder.query
  // [E] for QUERY; and encoder.pooled_norm.* under model.pooled_norm.
  Pooling(const ModelConfig& config, ParameterStore* parameters);

  // [B, E]. real is [B, N] bool or undefined (all are real). MEAN averages the real positions, MAX
  // takes their largest value of each channel, QUERY weighs them (all three: 0 if none is real);
  // CLS and FIRST take the first position, real or not; LAST_TOKEN takes the last real position
  // (the last one if none is real); MEAN_OF_ALL averages all N; SUM_OVER_N sums the real ones and
  // divides by N. model.pooled_norm then normalises over the examples of the batch, or by running
  // statistics.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& real, BatchStatistics statistics) const;

  // Whether nothing but the first row of x counts: CLS and FIRST, unless a norm over the batch
  // comes before them. x may then be that row, [B, 1, E].
  bool ReadsFirstOnly() const;

 private:
  at::Tensor Pool(const at::Tensor& x, const at::Tensor& real, BatchStatistics statistics) const;

  ModelConfig::Pooling kind_;
  std::optional<Norm> norm_, pooled_norm_;
  at::Tensor query_;  // [E] or undefined
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_POOLING_H_
