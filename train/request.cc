#include "train/request.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/find_checkpoint.h"
#include "run_folder/run_claim.h"
#include "train/seeds.h"

namespace lra {
namespace {

TrainRequest RequestOfSeed(const TrainChoice& choice, const ResolvedConfig& resolved, uint32_t seed,
                           bool is_one_of_several) {
  TrainRequest request;
  request.resolved = resolved;
  request.resolved.config.set_seed(seed);
  if (!choice.seeds.empty()) request.resolved.provenance["seed"] = "--seeds";
  request.resume = choice.resume;
  request.skips_last_checkpoint = choice.skips_last_checkpoint;
  request.half_logits = choice.half_logits;
  request.command_line = choice.command_line;
  request.runtime = choice.runtime;
  const ExperimentConfig& config = request.resolved.config;
  const std::string& out = choice.runtime.out_dir();
  if (choice.runtime.data_dir().empty())
    request.runtime.set_data_dir(DefaultDataDirectory(config.task()));
  if (out.empty()) {
    request.runtime.set_out_dir(DefaultRunDirectory(config));
  } else if (is_one_of_several) {
    request.runtime.set_out_dir(absl::StrCat(out, "-s", seed));
  }
  return request;
}

// The weights are a part of the configuration, so runs from different ones have different names.
absl::Status StartFrom(const std::string& checkpoint, ResolvedConfig* resolved) {
  if (resolved->config.has_pretrain()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--from ", checkpoint,
                     ": pretraining starts from initial weights; leave out --from or the ",
                     "fields of pretrain (objective is ",
                     PretrainConfig::Objective_Name(resolved->config.pretrain().objective()), ")"));
  }
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(checkpoint));
  resolved->config.set_start_weights_sha256(state.weights_sha256());
  resolved->provenance["start_weights_sha256"] = absl::StrCat("--from ", checkpoint);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TrainRequest>> MakeTrainRequests(const TrainChoice& choice) {
  LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, ResolveExperiment(choice.experiment));
  std::string start_checkpoint;
  if (!choice.from.empty()) {
    LRA_ASSIGN_OR_RETURN(start_checkpoint, FindCheckpoint(choice.from));
    LRA_RETURN_IF_ERROR(StartFrom(start_checkpoint, &resolved));
  }
  std::vector<uint32_t> seeds = {resolved.config.seed()};
  if (!choice.seeds.empty()) {
    LRA_ASSIGN_OR_RETURN(seeds, ParseSeeds(choice.seeds));
  }
  std::vector<TrainRequest> requests;
  for (const uint32_t seed : seeds)
    requests.push_back(RequestOfSeed(choice, resolved, seed, seeds.size() > 1));
  for (TrainRequest& request : requests) request.start_checkpoint = start_checkpoint;
  return requests;
}

std::string DefaultRunDirectory(const ExperimentConfig& config) {
  return JoinPath("runs", ExperimentName(config));
}

absl::Status CheckRunDirectory(const TrainRequest& request) {
  const std::string& out = request.runtime.out_dir();
  if (request.resume) return absl::OkStatus();
  if (!HoldsRun(out)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      out, " holds a run already; add --resume to go on with it, or choose another --out"));
}

}  // namespace lra
