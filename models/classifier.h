// The shared model: embedding + positions, pre-LN encoder with any registered attention, pooling,
// head.
//
//   LRA_ASSIGN_OR_RETURN(auto model, Classifier::Create(config, spec));
//   at::Tensor logits = model->Forward(batch, {.training = true, .step = 7});   // [B, C]
#ifndef LRA_MODELS_CLASSIFIER_H_
#define LRA_MODELS_CLASSIFIER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/attention/attention.h"
#include "models/parameters.h"

namespace lra {

struct ForwardContext {
  bool training = false;  // dropout on
  uint32_t step = 0;      // optimiser step: keys the dropout masks
};

// Not safe for concurrent use (parameters and gradients are shared).
class Classifier {
 public:
  virtual ~Classifier() = default;
  // InvalidArgument for sizes that do not fit together and unknown attentions.
  static absl::StatusOr<std::unique_ptr<Classifier>> Create(const ExperimentConfig& config,
                                                            const TaskSpec& spec);

  // Logits [B, C] float32. Throws c10::Error as LibTorch does; see models/torch_status.h.
  virtual at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const = 0;

  // What each layer's attention gets of a batch in evaluation, layer by layer; throws as Forward().
  using AttentionVisitor =
      std::function<void(int64_t layer, const Attention& attention, const AttentionInput& input)>;
  virtual void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const = 0;

  virtual const ParameterStore& parameters() const = 0;
  // Moves parameters to a device; batches follow them there. Throws as LibTorch does.
  virtual void MoveTo(at::Device device) = 0;

  // What Forward() computes, in order, by name: "embedding", "layer 0 attention", "layer 0",
  // "pooled", "logits". For finding the place where numbers go wrong.
  using ActivationVisitor = std::function<void(absl::string_view name, const at::Tensor& value)>;
  virtual void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                                const ActivationVisitor& visit) const = 0;
};

}  // namespace lra

#endif  // LRA_MODELS_CLASSIFIER_H_
