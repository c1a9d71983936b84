// One training run: what it needs, opened and checked before the first step.
#ifndef LRA_TRAIN_RUN_H_
#define LRA_TRAIN_RUN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "lra/config.h"
#include "lra/config.pb.h"
#include "lra/files.h"
#include "models/classifier.h"
#include "train/checkpoint_state.pb.h"
#include "train/optimizer.h"
#include "train/run_claim.h"

namespace lra {

struct TrainRequest {
  ResolvedConfig resolved;
  // data_dir and out_dir are set.
  RuntimeConfig runtime;
  // Go on from the latest checkpoint if there is one.
  bool resume = false;
  // This process made that checkpoint: going on from it is no resume that the record counts.
  bool is_same_process = false;
  // As typed; logged with every look at the test split.
  std::string command_line;
  // Of a search that this run won; they go into its record.
  std::vector<Trial> trials;
};

struct Run {
  TrainRequest request;
  // Keeps a second process out of the run folder.
  std::optional<RunClaim> claim;
  Dataset data;
  SplitView train, validation;
  std::unique_ptr<Classifier> model;
  std::unique_ptr<Optimizer> optimizer;
  // Where the run stands.
  CheckpointState state;
  // The request's configuration (short for request.resolved.config).
  const ExperimentConfig& config() const { return request.resolved.config; }
};

// Opens data (hashes checked), builds the model, restores the latest checkpoint when resuming.
// InvalidArgument for a device that is not there, before anything else.
// AlreadyExists when the run folder is in use and resume is off; InvalidArgument naming the field
// when the checkpoint was made with another configuration or other data. Until its first step a
// run leaves nothing behind.
absl::StatusOr<std::unique_ptr<Run>> OpenRun(const TrainRequest& request);

// AlreadyExists when the run folder holds a run and resume is off.
absl::Status CheckRunDirectory(const TrainRequest& request);

// Goes on from the folder's latest checkpoint where it has one: fills the parameters, the optimiser
// and *state, whose configuration and data are the run's. InvalidArgument naming the first field in
// which the checkpoint's differ; the errors of LoadWeights and LoadOptimizer.
absl::Status RestoreLatest(const std::string& directory, const TrainRequest& request,
                           const ParameterStore& parameters, Optimizer* optimizer,
                           CheckpointState* state);

// "runs/listops-linear-small-s0".
std::string DefaultRunDirectory(const ExperimentConfig& config);

}  // namespace lra

#endif  // LRA_TRAIN_RUN_H_
