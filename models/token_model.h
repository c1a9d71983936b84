// The encoder of a Classifier under a head that guesses tokens: pretraining on the task's own
// inputs (Amos et al., "Never Train from Scratch", 2023).
#ifndef LRA_MODELS_TOKEN_MODEL_H_
#define LRA_MODELS_TOKEN_MODEL_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/forward_context.h"
#include "models/parameters.h"

namespace lra {

// Not safe for concurrent use.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Parameters of embedding and encoder have the Classifier's names; the token table has one row
  // more, for hidden tokens, and pretrain.head.* is its own. InvalidArgument as Classifier::Create,
  // for inputs that are real numbers, and for CAUSAL where the attention has no causal form.
  static absl::StatusOr<std::unique_ptr<TokenModel>> Create(const ExperimentConfig& config,
                                                            const TaskSpec& spec);

  // Logits [S, V] at the places b * N + n of `positions` [S]; hidden [B, N] (1 = not shown; empty:
  // none). Of pairs the first texts are read. Throws c10::Error as LibTorch does.
  virtual at::Tensor Forward(const HostBatch& batch, const std::vector<uint8_t>& hidden,
                             const std::vector<int64_t>& positions,
                             const ForwardContext& context) const = 0;

  // Moves parameters to a device; batches follow them there. Throws as LibTorch does.
  virtual void MoveTo(at::Device device) = 0;

  virtual const ParameterStore& parameters() const = 0;
};

// Parameters and buffers that both have, by name; of a longer table its first rows.
void CopySharedParameters(const ParameterStore& from, const ParameterStore& to);

}  // namespace lra

#endif  // LRA_MODELS_TOKEN_MODEL_H_
