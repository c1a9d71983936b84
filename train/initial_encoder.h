// Starting from another run's encoder (`lra train --init-from`): for another task that reads the
// same ids, with other labels, or under another attention.
#ifndef LRA_TRAIN_INITIAL_ENCODER_H_
#define LRA_TRAIN_INITIAL_ENCODER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/base/parameters.h"
#include "run_folder/checkpoint_state.pb.h"

namespace lra {

// Whether a model of `config` on data of `spec` (as the view shows it) can take the encoder of the
// other run. InvalidArgument names what differs: ids (datasets/id_content.h), block, sizes, norms
// or positions, attention.causal where there are convolutions over tokens, or learned positions for
// longer sequences than the other run has.
absl::Status CheckSameEncoder(const CheckpointState& other, const ExperimentConfig& config,
                              const TaskSpec& spec);
// The same but for ids, where the data is not there to say which these are.
absl::Status CheckSameLayers(const CheckpointState& other, const ExperimentConfig& config);

// Fills the parameters and buffers that belong to the encoder (embedding, positions, layers, final
// norm) from the checkpoint by name. The head and what pooling has of its own keep their initial
// values. With another attention, so does what that one alone has: of an attention, the projections
// of queries, keys, values and output are taken. With the same attention, what has another shape,
// because it depends on the length, does too. The errors of CheckSameEncoder and ReadWeights.
absl::StatusOr<InitialEncoder> TakeEncoder(const std::string& checkpoint,
                                           const CheckpointState& other,
                                           const ExperimentConfig& config, const TaskSpec& spec,
                                           const ParameterStore& parameters);

// "text, transformer, seed 0, step 400: 33 tensors (70,720 numbers) taken, 2 left
// (pretrain.head.weight, pretrain.head.bias), 4 new (...)"
std::string DescribeInitialEncoder(const InitialEncoder& taken);

// What a user should know of sequences longer than the other run's; empty where they are not.
std::string LengthWarning(const CheckpointState& other, const ExperimentConfig& config);

}  // namespace lra

#endif  // LRA_TRAIN_INITIAL_ENCODER_H_
