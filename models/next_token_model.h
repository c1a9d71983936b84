// The shared encoder as a model of texts: each token is guessed from the earlier ones
// (view.target=NEXT). A learned vector stands in front of each sequence, so that the first token is
// guessed, too: the output at place t sees the vector and tokens 0 .. t - 1, and guesses token t.
#ifndef LRA_MODELS_NEXT_TOKEN_MODEL_H_
#define LRA_MODELS_NEXT_TOKEN_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/classifier.h"

namespace lra {

// A Classifier of the tokens of spec.vocabulary_size ids whose logits [G, V] belong to
// batch.labels. Pooling and hidden layers of the head do not occur: the head is a norm
// (model.norm_placement BEFORE) and one linear map. `config` has no unset fields. InvalidArgument
// where an output would see what it guesses: without attention.causal=true, for an attention or a
// block that has no causal form, and for model.norm=BATCH, whose statistics are over all tokens.
absl::StatusOr<std::unique_ptr<Classifier>> CreateNextTokenModel(const ExperimentConfig& config,
                                                                 const TaskSpec& spec);

// [G] the rows of the encoder's flattened output [B (N + 1), E] that guess batch.labels.
std::vector<int64_t> GuessingRows(const HostBatch& batch);

}  // namespace lra

#endif  // LRA_MODELS_NEXT_TOKEN_MODEL_H_
