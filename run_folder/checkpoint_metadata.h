// What a weights file says about itself in the metadata of the safetensors format: enough to build
// the model and to know the data, so that the file alone can be scored. In Python:
//
//   json.loads(safetensors.safe_open("weights.safetensors", "numpy").metadata()["lra.spec"])
#ifndef LRA_RUN_FOLDER_CHECKPOINT_METADATA_H_
#define LRA_RUN_FOLDER_CHECKPOINT_METADATA_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "run_folder/checkpoint_state.pb.h"

namespace lra {

// Values of the keys, all of them strings:
//   format                        "lra"
//   lra.format_version, lra.step, lra.protocol
//   lra.config, lra.spec, lra.data  JSON of ExperimentConfig, TaskSpec (its token_names are the
//                                   tokeniser's table) and DataIdentity (the fingerprints)
//   lra.state                     JSON of CheckpointState: step, best_step, and best_validation
//                                 with the metric behind it (best_validation_accuracy)
//
// SaveCheckpoint() adds to the weights:
//   lra.tensors_sha256            SHA-256 of all bytes behind the header, in hexadecimal
//
// The metadata depends on configuration, data and progress alone. Times and the origin of fields
// are left out, so that equal weights give equal files. Beside the token names it takes at most a
// few KB.
std::map<std::string, std::string> CheckpointMetadata(const CheckpointState& state);

// The state that a weights file stands for: without curve, loader position and optimiser. DataLoss,
// naming file and key, for content that CheckpointMetadata does not write; FailedPrecondition for
// another format version and for a file without these keys.
absl::StatusOr<CheckpointState> StateFromMetadata(
    absl::string_view path, const std::map<std::string, std::string>& metadata);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_CHECKPOINT_METADATA_H_
