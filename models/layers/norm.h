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

// The norm of ModelConfig.norm: LayerNorm, or batch normalisation (Ioffe & Szegedy 2015) of each
// channel over the real positions of all examples, CLS included. Padded positions are mapped in the
// same way, without a say in the statistics. Running statistics move towards a batch's by a share of
// the difference, the variance being the unbiased one.
class Norm {
 public:
  enum class Memory {
    kTenBatches,  // a tenth of it, as PyTorch's BatchNorm1d does
    // A hundredth, and in the first hundred batches as much as makes them means over all batches so
    // far. Batches of texts of one length follow each other for a while, and ten of them would not
    // speak for the others.
    kHundredBatches,
  };
  Norm() = default;  // of nothing: to be assigned
  // Creates <name>.weight and <name>.bias, [E] each; for BATCH the buffers <name>.running_mean and
  // <name>.running_var, and <name>.batches, [1], for kHundredBatches, so that checkpoints hold them.
  Norm(const ModelConfig& config, absl::string_view name, ParameterStore* parameters,
       Memory memory = Memory::kTenBatches);

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
  // The share of the difference; counts a batch that has enough positions.
  at::Tensor Rate(const at::Tensor& is_enough) const;
  // Nothing where there are not enough positions, which is a number on the device, as theirs is.
  void Learn(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& positions,
             const at::Tensor& is_enough) const;

  NormMap map_;
  at::Tensor running_mean_, running_variance_;  // [E]; undefined: a layer norm
  at::Tensor batches_;                          // [1], learned from; undefined: kTenBatches
};

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_NORM_H_
