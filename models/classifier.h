// The shared model: embedding + positions, encoder with any registered attention, pooling, head.
// Both texts of a pair go through the same encoder, one after the other. Where tokens are guessed
// (view.target=NEXT) there is no pooling, and the head stands on each token
// (models/next_token_model.h).
//
//   LRA_ASSIGN_OR_RETURN(auto model, Classifier::Create(config, spec));
//   at::Tensor logits = model->Forward(batch, {.training = true, .step = 7});   // [B, C]
#ifndef LRA_MODELS_CLASSIFIER_H_
#define LRA_MODELS_CLASSIFIER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/base/forward_context.h"
#include "models/base/parameters.h"
#include "models/encoder/encoder.h"
#include "models/token_stream.h"

namespace lra {

// Whether an example's logits in training depend on the other examples of its batch, so that a
// batch in parts gives other numbers than a whole one: model.norm=BATCH and, where labels are
// guessed, which tokens are not pooled for, model.pooled_norm=OVER_EXAMPLES. Each part then has
// statistics of its own, and so have the first and the second texts of pairs unless
// model.joint_pair_statistics holds.
bool DependsOnBatch(const ExperimentConfig& config);

// Those of the two that are set, joined by " and "; empty for none.
std::string NormsOverExamples(const ExperimentConfig& config);

// Not safe for concurrent use (parameters and gradients are shared).
class Classifier {
 public:
  virtual ~Classifier() = default;
  // InvalidArgument for sizes that do not fit together, unknown blocks and unknown attentions, and
  // for a pooling that reads the first position where all layers are causal, so that it sees
  // nothing. A field that is unset because the configuration is older means its legacy value.
  static absl::StatusOr<std::unique_ptr<Classifier>> Create(const ExperimentConfig& config,
                                                            const TaskSpec& spec);

  // All that a forward pass reads of the batch, on the host; some of it undefined. On the model's
  // device it is ForwardContext::moved.
  virtual std::vector<at::Tensor> OnHost(const HostBatch& batch, bool is_training) const = 0;

  // Logits [G, C] float32 of what batch.labels says: a row for each example, or for each guessed
  // token. Throws c10::Error as LibTorch does; see models/base/torch_status.h.
  virtual at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const = 0;

  // What each layer's attention gets of a batch in evaluation, layer by layer, the second texts of
  // pairs after the first ones; throws as Forward(). What model.mask=OUTER makes of padded queries
  // comes after the attention and is not seen here.
  using AttentionVisitor = Encoder::AttentionVisitor;
  virtual void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const = 0;

  virtual const ParameterStore& parameters() const = 0;

  // What the attentions learned of their own choices, by name: "layer0.head1.scale_tokens".
  virtual std::vector<std::pair<std::string, double>> LearnedNumbers() const = 0;

  // Whether the amount of padding changes an example's logits: pooling that divides by N, and
  // blocks whose traits say so (model.mask=NO_MASK, some attentions).
  virtual bool depends_on_padding() const = 0;

  // Moves parameters to a device; batches follow them there. Throws as LibTorch does.
  virtual void MoveTo(at::Device device) = 0;

  // What Forward() computes, in order, by name: "embedding", "layer 0 attention", "layer 0",
  // "pooled", "logits"; of the second texts of pairs "second text: embedding" and so on. For
  // finding the place where numbers go wrong.
  using ActivationVisitor = Encoder::ActivationVisitor;
  virtual void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                                const ActivationVisitor& visit) const = 0;

  // `batch` empty texts, to grow in evaluation without gradients. The model must outlive them.
  // FailedPrecondition for a model of labels, and for kState where a part of the model cannot
  // stream, with the reason.
  virtual absl::StatusOr<std::unique_ptr<TokenStream>> StartStream(int64_t batch,
                                                                   StreamKind kind) const;
};

}  // namespace lra

#endif  // LRA_MODELS_CLASSIFIER_H_
