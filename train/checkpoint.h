// Checkpoints: folders checkpoint/step-N/ with weights.safetensors, optimizer.safetensors and
// state.textproto (sealed), renamed into place; checkpoint/latest names the newest. A killed
// process leaves the previous one intact.
#ifndef LRA_TRAIN_CHECKPOINT_H_
#define LRA_TRAIN_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/parameters.h"
#include "train/checkpoint_state.pb.h"
#include "train/optimizer.h"

namespace lra {

// "RUN/checkpoint/step-120".
std::string CheckpointPath(absl::string_view run_dir, int64_t step);

// Writes the checkpoint of state->step(), fills in its digests, points `latest` at it.
absl::Status SaveCheckpoint(absl::string_view run_dir, const ParameterStore& parameters,
                            const Optimizer& optimizer, CheckpointState* state);

// Steps of the run's checkpoints, ascending.
std::vector<int64_t> CheckpointSteps(absl::string_view run_dir);

// Removes all checkpoints of the run but those of the given steps, and leftovers of killed
// processes.
void PruneCheckpoints(absl::string_view run_dir, const std::vector<int64_t>& keep_steps);

// Path of the latest checkpoint; NotFound when the run has none.
absl::StatusOr<std::string> LatestCheckpoint(absl::string_view run_dir);

// A weights file without its folder: it describes itself (train/checkpoint_metadata.h).
bool IsWeightsFile(absl::string_view path);

// Of a checkpoint folder, or of a lone weights file. Refuses a damaged state (seal) or a state of
// another format version.
absl::StatusOr<CheckpointState> LoadCheckpointState(absl::string_view checkpoint);

// Fills the model's parameters. DataLoss when the file does not match the state's digest, or names
// or shapes differ.
absl::Status LoadWeights(absl::string_view checkpoint, const CheckpointState& state,
                         const ParameterStore& parameters);
absl::Status LoadOptimizer(absl::string_view checkpoint_dir, const CheckpointState& state,
                           Optimizer* optimizer);

}  // namespace lra

#endif  // LRA_TRAIN_CHECKPOINT_H_
