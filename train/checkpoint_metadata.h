// What a weights file says about itself, in the metadata of the safetensors format: enough to build
// the model and to know the data, so that the lone file is a checkpoint to score. Python:
//
//   json.loads(safetensors.safe_open("weights.safetensors", "numpy").metadata()["lra.spec"])
#ifndef LRA_TRAIN_CHECKPOINT_METADATA_H_
#define LRA_TRAIN_CHECKPOINT_METADATA_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "train/checkpoint_state.pb.h"

namespace lra {

// Values of the keys, all of them strings:
//   format                        "lra"
//   lra.format_version, lra.step, lra.protocol
//   lra.config, lra.spec, lra.data  JSON of ExperimentConfig, TaskSpec (its token_names are the
//                                   tokeniser's table) and DataIdentity (the fingerprints)
//   lra.state                     JSON of CheckpointState: best_step, best_validation_accuracy
//
// A function of configuration, data and progress alone: neither times nor what set a field is in
// it, so that equal weights are equal files. At most a few KB beside the token names.
std::map<std::string, std::string> CheckpointMetadata(const CheckpointState& state);

// The state that a weights file stands for: no curve, no loader's position, no optimiser.
// DataLoss, naming file and key, for what CheckpointMetadata does not write; FailedPrecondition for
// another format version, and for a file without these keys.
absl::StatusOr<CheckpointState> StateFromMetadata(
    absl::string_view path, const std::map<std::string, std::string>& metadata);

}  // namespace lra

#endif  // LRA_TRAIN_CHECKPOINT_METADATA_H_
