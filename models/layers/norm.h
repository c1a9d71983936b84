// The encoder's normalisations.
#ifndef LRA_MODELS_LAYERS_NORM_H_
#define LRA_MODELS_LAYERS_NORM_H_

#include <ATen/core/Tensor.h>

#include "absl/strings/string_view.h"
#include "lra/config.pb.h"
#include "models/base/forward_context.h"
#include "models/base/parameters.h"

namespace lra {

struct NormMap {
  at::Tensor weight;
  at::Tensor bias;
  double epsilon = 1e-6;
};

// Over the last dimension (Ba et al. 2016).
at::Tensor LayerNorm(const at::Tensor& x, const NormMap& norm);

// Whether a norm stands behind the last layer, in front of pooling or of a head on tokens.
bool HasFinalNorm(const ModelConfig& config);

// The norm of ModelConfig.norm: LayerNorm, or batch normalisation (Ioffe & Szegedy 2015) of each
// channel over the real positions of all examples, CLS included. Padded positions are mapped in the
// same way, without a say in the statistics. Running statistics move by a share of the difference
// at each batch, the variance being the unbiased one, as PyTorch's BatchNorm1d does.
class Norm {
 public:
  Norm() = default;  // of nothing: to be assigned
  // Creates <name>.weight and <name>.bias, [E] each; for BATCH the buffers <name>.running_mean and
  // <name>.running_var, so that checkpoints hold them.
  Norm(const ModelConfig& config, absl::string_view name, ParameterStore* parameters);

  // x [B, N, E]; real [B, N] bool or undefined (all). A batch with fewer than two real positions
  // has no variance and is normalised by the running statistics.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& real, BatchStatistics statistics) const;

  // Forward() by its formula, in the type of x, whatever the type of the parameters.
  at::Tensor Oracle(const at::Tensor& x, const at::Tensor& real, BatchStatistics statistics) const;

  // Whether each position's result depends on that position only.
  bool is_layer_norm() const { return !running_mean_.defined(); }
  const NormMap& map() const { return map_; }

 private:
  at::Tensor Apply(const at::Tensor& centred, const at::Tensor& variance) const;
  // Nothing where there are not enough positions, which is a number on the device, as theirs is.
  void Learn(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& positions,
             const at::Tensor& is_enough, double share) const;

  NormMap map_;
  at::Tensor running_mean_, running_variance_;  // [E]; undefined: a layer norm
};

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_NORM_H_
