#include "train/request.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "lra/files.h"
#include "lra/status_macros.h"
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

}  // namespace

absl::StatusOr<std::vector<TrainRequest>> MakeTrainRequests(const TrainChoice& choice) {
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, ResolveExperiment(choice.experiment));
  std::vector<uint32_t> seeds = {resolved.config.seed()};
  if (!choice.seeds.empty()) {
    LRA_ASSIGN_OR_RETURN(seeds, ParseSeeds(choice.seeds));
  }
  std::vector<TrainRequest> requests;
  for (const uint32_t seed : seeds)
    requests.push_back(RequestOfSeed(choice, resolved, seed, seeds.size() > 1));
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
