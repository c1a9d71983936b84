#include "train/start_weights.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "train/field_difference.h"
#include "train/initial_encoder.h"

namespace lra {
namespace {

// How a configuration names weights, and the flag that names their checkpoint.
struct Wanted {
  const char* field;
  const char* flag;
  std::string sha256;
};

absl::StatusOr<CheckpointState> LoadWanted(const Wanted& wanted, const std::string& checkpoint) {
  if (checkpoint.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(wanted.field, " is ", wanted.sha256,
                     ": training starts from these weights; name their checkpoint with ",
                     wanted.flag, " CHECKPOINT"));
  }
  LRA_ASSIGN_OR_RETURN(CheckpointState state, LoadCheckpointState(checkpoint));
  if (state.weights_sha256() == wanted.sha256) return state;
  return absl::InvalidArgumentError(absl::StrCat(wanted.flag, " ", checkpoint, ": its weights are ",
                                                 state.weights_sha256(), ", ", wanted.field, " is ",
                                                 wanted.sha256));
}

// What a model computes from its weights. Rates and places of dropout, statistics of training and
// initial values may differ.
bool IsOfModel(absl::string_view path) {
  constexpr absl::string_view kFree[] = {"attention.dropout",      "model.dropout",
                                         "model.dropout_mask",     "model.embedding_dropout",
                                         "model.embedding_stddev", "model.initial_values",
                                         "model.inner_dropout",    "model.joint_pair_statistics"};
  const bool is_free = std::find(std::begin(kFree), std::end(kFree), path) != std::end(kFree) ||
                       absl::StartsWith(path, "attention.options.initial_");
  return !is_free && (absl::StartsWith(path, "model.") || absl::StartsWith(path, "attention.") ||
                      absl::StartsWith(path, "block."));
}

absl::Status LoadModel(const Wanted& wanted, const Run& run) {
  const std::string& checkpoint = run.request.start_checkpoint;
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadWanted(wanted, checkpoint));
  LRA_RETURN_IF_ERROR(CheckSameModel(checkpoint, state, run.config()));
  const absl::Status loaded = LoadWeights(checkpoint, state, run.model->parameters());
  if (loaded.ok()) return loaded;
  return absl::InvalidArgumentError(
      absl::StrCat("--from ", checkpoint, ": ", loaded.message(),
                   "; sizes, attention, block and vocabulary must be those of that run"));
}

absl::Status LoadEncoder(const Wanted& wanted, Run* run) {
  const std::string& checkpoint = run->request.start_checkpoint;
  LRA_ASSIGN_OR_RETURN(const CheckpointState other, LoadWanted(wanted, checkpoint));
  absl::StatusOr<InitialEncoder> taken =
      TakeEncoder(checkpoint, other, run->config(), run->train.spec(), run->model->parameters());
  LRA_RETURN_IF_ERROR(Annotate(taken.status(), absl::StrCat("--init-from ", checkpoint)));
  const std::string warning = LengthWarning(other, run->config());
  if (!warning.empty()) run->state.add_warning(warning);
  if (!run->request.runtime.quiet())
    std::cerr << "encoder of " << DescribeInitialEncoder(*taken) << "\n";
  if (!warning.empty() && !run->request.leaves_out_warnings)
    std::cerr << "warning: " << warning << "\n";
  *run->state.mutable_initial_encoder() = *std::move(taken);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSameModel(absl::string_view checkpoint, const CheckpointState& other,
                            const ExperimentConfig& config) {
  if (!other.config().has_model()) return absl::OkStatus();
  const auto difference = FirstFieldDifference(config, other.config(), IsOfModel);
  if (!difference) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--from ", checkpoint, ": ", DescribeDifference(*difference),
                   "; set it as there: --from takes a whole model as it is (--init-from takes its "
                   "encoder, for another attention or task)"));
}

absl::Status LoadStart(Run* run) {
  const ExperimentConfig& config = run->config();
  if (config.has_start_weights_sha256() && config.has_encoder_weights_sha256()) {
    return absl::InvalidArgumentError(
        "start_weights_sha256 and encoder_weights_sha256: training starts from the one or the "
        "other");
  }
  if (config.has_start_weights_sha256())
    return LoadModel({"start_weights_sha256", "--from", config.start_weights_sha256()}, *run);
  if (config.has_encoder_recipe() && !config.has_encoder_weights_sha256()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "encoder_recipe is ", config.encoder_recipe(),
        " without encoder_weights_sha256: it says how an encoder was made; name that with "
        "--init-from, or leave it out"));
  }
  if (!config.has_encoder_weights_sha256()) return absl::OkStatus();
  return LoadEncoder({"encoder_weights_sha256", "--init-from", config.encoder_weights_sha256()},
                     run);
}

}  // namespace lra
