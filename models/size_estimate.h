// How large a model is, from its configuration alone: known before anything of it is allocated.
#ifndef LRA_MODELS_SIZE_ESTIMATE_H_
#define LRA_MODELS_SIZE_ESTIMATE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"

namespace lra {

struct SizeEstimate {
  int64_t parameters = 0;  // trained scalars
  // Weights and buffers, as a model and a weights file hold them.
  int64_t weight_bytes = 0;
  // Weights, buffers, gradients and the two moments of the optimiser.
  int64_t training_bytes = 0;
  // What a step with one example keeps for its backward pass, at least: half of what the blocks
  // estimate (BF16: a quarter), without anything inside attentions.
  int64_t activation_bytes = 0;
  // Multiplications and additions of forward and backward for one token, at least: those of the
  // blocks' own maps.
  double operations_per_token = 0;
};

// For an example of `tokens` tokens with its padding, without CLS. The errors of
// Classifier::Create.
absl::StatusOr<SizeEstimate> EstimateSize(const ExperimentConfig& config, const TaskSpec& spec,
                                          int64_t tokens);

// "model.layers 4, model.width 65536, ...": what to lower.
std::string DescribeSizes(const ModelConfig& model);

}  // namespace lra

#endif  // LRA_MODELS_SIZE_ESTIMATE_H_
