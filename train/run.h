// One training run: what it needs, opened and checked before the first step.
#ifndef LRA_TRAIN_RUN_H_
#define LRA_TRAIN_RUN_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"
#include "lra/config.pb.h"
#include "lra/files.h"
#include "models/classifier.h"
#include "ranks/ranks.h"
#include "run_folder/checkpoint_state.pb.h"
#include "run_folder/run_claim.h"
#include "train/optimizer.h"
#include "train/request.h"

namespace lra {

struct Run {
  TrainRequest request;
  // The processes that train it.
  std::shared_ptr<Ranks> ranks;
  // Keeps other processes out of the run folder; rank 0's.
  std::optional<RunClaim> claim;
  Dataset data;
  SplitView train, validation;
  // The task's, which training with labels can give.
  const Metric* metric = nullptr;
  std::unique_ptr<Classifier> model;
  std::unique_ptr<Optimizer> optimizer;
  // Where the run stands.
  CheckpointState state;
  // The request's configuration (short for request.resolved.config).
  const ExperimentConfig& config() const { return request.resolved.config; }
  // Whether this process is the one that writes the run's folder.
  bool writes() const { return ranks->is_first(); }
  // The claim's Confirm(), where this process has it.
  absl::Status ConfirmClaim() const { return claim ? claim->Confirm() : absl::OkStatus(); }
};

// Opens data (hashes checked), builds the model, restores the latest checkpoint when resuming.
// InvalidArgument for a device that is not there, before anything else, and for a task's metric
// that training with labels cannot give; then, before anything is allocated, for a model that
// cannot fit (train/size_check.h).
// AlreadyExists when the run folder is in use and resume is off; InvalidArgument where weights to
// start from are missing, are others or do not fit the model, and naming the field when the
// checkpoint was made with another configuration or other data. Until its first step a
// run leaves nothing behind.
absl::StatusOr<std::unique_ptr<Run>> OpenRun(const TrainRequest& request);

// Goes on from the folder's latest checkpoint where it has one: fills the parameters, the optimiser
// and *state, whose configuration and data are the run's. InvalidArgument naming the first field in
// which the checkpoint's differ; the errors of LoadWeights and LoadOptimizer. Pretraining
// (is_pretraining) may go on with budgets that follow the checkpoint's and with another goal
// (lra/pretrain_budget.h).
absl::Status RestoreLatest(const std::string& directory, const TrainRequest& request,
                           const ParameterStore& parameters, Optimizer* optimizer,
                           CheckpointState* state, bool is_pretraining = false);

// AlreadyExists if the record in `directory` is of an evaluation and not of a run.
absl::Status CheckIsNoEvaluation(const RunRecord& record, absl::string_view directory);

// Whether the record in the run's folder is of a run with this configuration, its seed included,
// and this data, also where its checkpoints are gone. InvalidArgument as of RestoreLatest;
// AlreadyExists for the record of an evaluation.
absl::Status CheckSameRecord(const ExperimentConfig& config, const DataIdentity& data,
                             const RunRecord& record, absl::string_view directory);

}  // namespace lra

#endif  // LRA_TRAIN_RUN_H_
