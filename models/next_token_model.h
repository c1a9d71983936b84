// The shared encoder as a model of texts. Each token is guessed from the earlier ones
// (view.target=NEXT): a learned vector stands in front of each sequence, so that the first token is
// guessed, too; the output at place t sees the vector and tokens 0 .. t - 1, and guesses token t.
// Or hidden tokens are guessed from all others (view.target=MASKED) by the outputs in their places.
#ifndef LRA_MODELS_NEXT_TOKEN_MODEL_H_
#define LRA_MODELS_NEXT_TOKEN_MODEL_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/classifier.h"

namespace lra {

// A Classifier of the tokens of spec.classes ids whose logits [G, V] belong to batch.labels.
// Pooling and hidden layers of the head do not occur: the head is a norm (HasFinalNorm) and one
// linear map, or a mixture of logistics. `config` has no unset fields. InvalidArgument where an
// output of NEXT would see what it guesses: without attention.causal=true, for an attention or a
// block that has no causal form, and for model.norm=BATCH, whose statistics are over all tokens;
// and for a mixture of what are no pixels.
absl::StatusOr<std::unique_ptr<Classifier>> CreateNextTokenModel(const ExperimentConfig& config,
                                                                 const TaskSpec& spec);

// Whether the model of such data puts a learned vector (CLS) in front of each sequence, in place 0:
// always where the next token is guessed, never where hidden ones are, else as model.pooling says.
bool HasCls(const ExperimentConfig& config, const TaskSpec& spec);

// [G] the rows of the encoder's flattened output [B (N + 1), E], or [B N, E] where tokens are
// hidden, that guess batch.labels.
std::vector<int64_t> GuessingRows(const HostBatch& batch);

// How many rows of logits a training step has. On the CPU, and with a label for each example, one
// for each of batch.labels. On other devices more, up to a multiple that batches have in common, so
// that a step is of few shapes (train/step_graphs.h): those behind the labels guess nothing.
int64_t TrainingRows(const HostBatch& batch, at::Device device);

}  // namespace lra

#endif  // LRA_MODELS_NEXT_TOKEN_MODEL_H_
