// Checkpoints are folders checkpoint/step-N/ with weights.safetensors, optimizer.safetensors and
// state.textproto (sealed). They are renamed into place, and checkpoint/latest names the newest. A
// killed process leaves the previous one intact.
#ifndef LRA_RUN_FOLDER_CHECKPOINT_H_
#define LRA_RUN_FOLDER_CHECKPOINT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/base/parameters.h"
#include "run_folder/checkpoint_state.pb.h"

namespace lra {

// Returns e.g. "RUN/checkpoint/step-120".
std::string CheckpointPath(absl::string_view run_dir, int64_t step);

// The state of an optimiser: moments and step counters by name (Optimizer::State).
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Writes the checkpoint of state->step(), fills in its digests, and makes `latest` name it.
absl::Status SaveCheckpoint(absl::string_view run_dir, const ParameterStore& parameters,
                            NamedTensors optimizer_state, CheckpointState* state);

// Steps of the run's checkpoints, ascending.
std::vector<int64_t> CheckpointSteps(absl::string_view run_dir);

// Removes all checkpoints of the run except those of the given steps, and what killed processes
// left.
void PruneCheckpoints(absl::string_view run_dir, const std::vector<int64_t>& keep_steps);

// Path of the latest checkpoint; NotFound when the run has none.
absl::StatusOr<std::string> LatestCheckpoint(absl::string_view run_dir);

// Whether the path is a weights file; such a file alone describes itself
// (run_folder/checkpoint_metadata.h).
bool IsWeightsFile(absl::string_view path);

// Loads the state of a checkpoint folder or of a lone weights file. Refuses a damaged state (seal),
// a state of another format version, and a lone file whose tensors do not have the digest that its
// metadata names (files that name none are older).
absl::StatusOr<CheckpointState> LoadCheckpointState(absl::string_view checkpoint);

// The tensors of a weights file by name, on the CPU. DataLoss when the file does not match the
// state's digest.
absl::StatusOr<NamedTensors> ReadWeights(absl::string_view checkpoint,
                                         const CheckpointState& state);

// Fills the model's parameters. DataLoss when the file does not match the state's digest, or names
// or shapes differ.
absl::Status LoadWeights(absl::string_view checkpoint, const CheckpointState& state,
                         const ParameterStore& parameters);
// Fills the optimiser through `restore` (Optimizer::Restore), whose error gets the file's name.
// DataLoss when the file does not match the state's digest.
absl::Status LoadOptimizer(absl::string_view checkpoint_dir, const CheckpointState& state,
                           absl::FunctionRef<absl::Status(const NamedTensors&)> restore);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_CHECKPOINT_H_
