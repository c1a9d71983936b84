// The encoder of a Classifier with a head that predicts tokens, for pretraining on the task's own
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
#include "models/base/forward_context.h"
#include "models/base/parameters.h"
#include "models/encoder/encoder.h"

namespace lra {

// The places at which a model predicts tokens of a batch.
struct TokenPlaces {
  // 1 for the second texts of pairs, otherwise 0.
  int column = 0;
  // [B, N] of that column: 1 where the input is masked; empty if nothing is.
  std::vector<uint8_t> hidden;
  // [S]: places b * N + n whose output predicts a token, ascending.
  std::vector<int64_t> positions;
};

// Not safe for concurrent use.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Parameters of embedding and encoder have the Classifier's names. The token table has one more
  // row, for masked tokens, and pretrain.head.* belongs to this model only. InvalidArgument as in
  // Classifier::Create, for real-valued inputs, and for CAUSAL if the attention has no causal form,
  // or if convolutions (TapsField()) are to look ahead once labels begin.
  static absl::StatusOr<std::unique_ptr<TokenModel>> Create(const ExperimentConfig& config,
                                                            const TaskSpec& spec);

  // All that Forward() reads of batch and places, as Classifier::OnHost has it.
  virtual std::vector<at::Tensor> OnHost(const HostBatch& batch, const TokenPlaces& places,
                                         bool is_training) const = 0;

  // Logits [S, V]. Second texts have dropout masks of their own, as in the Classifier. Throws
  // c10::Error as LibTorch does.
  virtual at::Tensor Forward(const HostBatch& batch, const TokenPlaces& places,
                             const ForwardContext& context) const = 0;

  // Visits what Forward() computes, in order, with the names of Classifier::VisitActivations,
  // without "pooled".
  virtual void VisitActivations(const HostBatch& batch, const TokenPlaces& places,
                                const ForwardContext& context,
                                const Encoder::ActivationVisitor& visit) const = 0;

  // Whether the amount of padding changes an example's logits.
  virtual bool depends_on_padding() const = 0;

  // Moves parameters to a device; batches follow them there. Throws as LibTorch does.
  virtual void MoveTo(at::Device device) = 0;

  virtual const ParameterStore& parameters() const = 0;
};

// Copies the parameters and buffers that both have, by name; of a longer table its first rows.
void CopySharedParameters(const ParameterStore& from, const ParameterStore& to);

}  // namespace lra

#endif  // LRA_MODELS_TOKEN_MODEL_H_
