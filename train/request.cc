#include "train/request.h"

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "eval/data_identity.h"
#include "eval/run_folders.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/find_checkpoint.h"
#include "run_folder/run_claim.h"
#include "train/encoder_recipe.h"
#include "train/run.h"
#include "train/seeds.h"
#include "train/shared_run.h"

namespace lra {
namespace {

bool IsSameFolder(const std::string& a, const std::string& b) {
  std::error_code failed_a, failed_b;
  const auto real_a = std::filesystem::weakly_canonical(a, failed_a);
  const auto real_b = std::filesystem::weakly_canonical(b, failed_b);
  return !failed_a && !failed_b && real_a == real_b;
}

// `resolved` is of the seed.
TrainRequest RequestOfSeed(const TrainChoice& choice, const ResolvedConfig& resolved,
                           bool is_one_of_several) {
  TrainRequest request;
  request.resolved = resolved;
  if (!choice.seeds.empty()) request.resolved.provenance["seed"] = "--seeds";
  request.resume = choice.resume;
  request.skips_last_checkpoint = choice.skips_last_checkpoint;
  request.half_logits = choice.half_logits;
  request.command_line = choice.command_line;
  request.ranks = choice.ranks;
  request.exact_reduction = choice.exact_reduction;
  request.graphs = choice.graphs;
  request.runtime = choice.runtime;
  const ExperimentConfig& config = request.resolved.config;
  const std::string& out = choice.runtime.out_dir();
  request.runtime.set_data_dir(DataFolderOf(config.task(), choice.runtime.data_dir()));
  if (out.empty()) {
    request.runtime.set_out_dir(DefaultRunDirectory(config, request.runtime.data_dir()));
  } else if (is_one_of_several) {
    request.runtime.set_out_dir(absl::StrCat(out, "-s", config.seed()));
  }
  return request;
}

// A checkpoint to start from, and the flag that names it.
struct Start {
  const char* flag;
  std::string path;
  bool takes_encoder = false;  // alone
  bool is_each_seeds_own() const { return takes_encoder && IsEncoderOfEachSeed(path); }
};

Start StartOf(const TrainChoice& choice) {
  if (choice.init_from.empty()) return {"--from", choice.from};
  return {"--init-from", choice.init_from, true};
}

// The weights are a part of the configuration, so runs from different ones have different names.
absl::Status StartFrom(const Start& start, const std::string& checkpoint,
                       ResolvedConfig* resolved) {
  ExperimentConfig& config = resolved->config;
  const std::string what = absl::StrCat(start.flag, " ", checkpoint);
  if (config.has_pretrain()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": pretraining starts from initial weights; leave out ", start.flag,
                     " or the fields of pretrain (objective is ",
                     PretrainConfig::Objective_Name(config.pretrain().objective()), ")"));
  }
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(checkpoint));
  const char* path = start.takes_encoder ? "encoder_weights_sha256" : "start_weights_sha256";
  std::string& field = start.takes_encoder ? *config.mutable_encoder_weights_sha256()
                                           : *config.mutable_start_weights_sha256();
  if (!field.empty() && field != state.weights_sha256()) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": its weights are ", state.weights_sha256(), ", ", path, " is ", field));
  }
  field = state.weights_sha256();
  resolved->provenance[path] = what;
  return absl::OkStatus();
}

// The same for an encoder that is the seed's own. A suite's worker finds digest and recipe among
// its settings.
absl::StatusOr<std::string> StartFromOwn(const std::string& path, ResolvedConfig* resolved) {
  ExperimentConfig& config = resolved->config;
  LRA_ASSIGN_OR_RETURN(const OwnEncoder encoder, FindOwnEncoder(path, config));
  LRA_RETURN_IF_ERROR(StartFrom({"--init-from", path, true}, encoder.checkpoint, resolved));
  if (config.has_encoder_recipe() && config.encoder_recipe() != encoder.recipe) {
    return absl::InvalidArgumentError(
        absl::StrCat("--init-from ", encoder.checkpoint, ": it was made by recipe ", encoder.recipe,
                     ", encoder_recipe is ", config.encoder_recipe()));
  }
  config.set_encoder_recipe(encoder.recipe);
  resolved->provenance["encoder_recipe"] = absl::StrCat("--init-from ", path);
  return encoder.checkpoint;
}

// The checkpoint that the seed of `resolved` starts from, in its configuration, too; empty where it
// starts from initial weights. A note is printed for the first seed.
absl::StatusOr<std::string> StartSeed(const TrainChoice& choice, bool is_first,
                                      ResolvedConfig* resolved) {
  const Start start = StartOf(choice);
  if (start.path.empty()) return "";
  if (start.is_each_seeds_own()) return StartFromOwn(start.path, resolved);
  LRA_ASSIGN_OR_RETURN(std::string checkpoint, FindCheckpoint(start.path));
  const std::string note = DescribeUnselected(start.path, checkpoint);
  if (is_first && !note.empty() && !choice.runtime.quiet()) std::cerr << "note: " << note << "\n";
  if (resolved->config.has_encoder_recipe()) {
    return absl::InvalidArgumentError(absl::StrCat(
        start.flag, " ", start.path, ": encoder_recipe is set, which says how encoders were made ",
        "that seeds have of their own; name them with ", kSeedPlace, " in the path, or leave it ",
        "out"));
  }
  LRA_RETURN_IF_ERROR(StartFrom(start, checkpoint, resolved));
  return checkpoint;
}

// Listings take a folder that is a run as that run alone: those below it would be lost to them.
absl::Status CheckIsNoFolderOfRuns(const std::string& out) {
  if (const std::string around = RunAround(out); !around.empty()) {
    return absl::AlreadyExistsError(
        absl::StrCat(out, " lies in the folder of a run, ", around,
                     ", inside which lra runs and lra table do not look: choose another --out"));
  }
  const std::string below = AnyRunBelow(out);
  // A run that stopped before its first checkpoint begins anew in its own folder.
  if (below.empty() || below == out) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(out, " holds other runs, such as ", below,
                   "; with a run right in it, lra runs and lra table would no longer see them: "
                   "name a folder of its own, e.g. --out ",
                   JoinPath(out, "NAME")));
}

// Whether the run in out_dir is to go on, and nothing says how.
bool NamesNoSettings(const TrainChoice& choice) {
  const ExperimentChoice& own = choice.experiment;
  return own.task.empty() && own.attention.empty() && own.protocol.empty() && own.preset.empty() &&
         own.run_file.empty() && own.sets.empty() && choice.seeds.empty();
}

// What its latest checkpoint says of the run: of the label stage or, before that, of pretraining.
absl::StatusOr<CheckpointState> LatestState(const std::string& out) {
  absl::StatusOr<std::string> latest = LatestCheckpoint(out);
  if (absl::IsNotFound(latest.status())) latest = LatestCheckpoint(JoinPath(out, kPretrainFolder));
  if (latest.ok()) return LoadCheckpointState(*latest);
  if (!absl::IsNotFound(latest.status())) return latest.status();
  return absl::NotFoundError(absl::StrCat(
      "--resume --out ", out, ": there is no checkpoint that has the run's settings (a search has ",
      "one when its trials are over); give them as at its start, or at least --task and ",
      "--attention"));
}

// Rank 0's, which alone needs the run's folder.
absl::StatusOr<CheckpointState> SharedLatestState(const std::string& out, Ranks* ranks) {
  if (ranks == nullptr || ranks->is_alone()) return LatestState(out);
  absl::StatusOr<CheckpointState> state = CheckpointState();
  if (ranks->is_first()) state = LatestState(out);
  LRA_RETURN_IF_ERROR(ranks->Agree(state.status()));
  LRA_RETURN_IF_ERROR(ShareMessage(ranks, "state", &*state));
  return state;
}

// The settings, and the data, of the run in out_dir.
absl::StatusOr<ResolvedConfig> SettingsOfRun(Ranks* ranks, RuntimeConfig* runtime) {
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, SharedLatestState(runtime->out_dir(), ranks));
  if (runtime->data_dir().empty() && FileExists(JoinPath(state.data_dir(), kManifestFile)))
    runtime->set_data_dir(state.data_dir());
  ResolvedConfig resolved;
  resolved.config = state.config();
  resolved.provenance = {state.provenance().begin(), state.provenance().end()};
  resolved.changed_rules = {state.changed_rule().begin(), state.changed_rule().end()};
  resolved.warnings = {state.warning().begin(), state.warning().end()};
  return resolved;
}

}  // namespace

absl::Status CheckStart(const TrainChoice& choice) {
  LRA_RETURN_IF_ERROR(CheckEncoderPath(choice.init_from));
  if (choice.from.empty() || choice.init_from.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--from ", choice.from, " and --init-from ", choice.init_from,
      ": --from takes a whole model, --init-from its encoder alone; leave one of them out"));
}

absl::StatusOr<std::vector<TrainRequest>> MakeTrainRequests(const TrainChoice& choice) {
  if (choice.resume && !choice.runtime.out_dir().empty() && NamesNoSettings(choice)) {
    TrainChoice own = choice;
    LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, SettingsOfRun(own.ranks.get(), &own.runtime));
    return MakeTrainRequests(own, std::move(resolved));
  }
  LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, ResolveExperiment(choice.experiment));
  return MakeTrainRequests(choice, std::move(resolved));
}

absl::StatusOr<std::vector<TrainRequest>> MakeTrainRequests(const TrainChoice& choice,
                                                            ResolvedConfig resolved) {
  LRA_RETURN_IF_ERROR(CheckStart(choice));
  if (!choice.seeds.empty()) LRA_RETURN_IF_ERROR(CheckNoSeedIsSet(resolved));
  std::vector<uint32_t> seeds = {resolved.config.seed()};
  if (!choice.seeds.empty()) {
    LRA_ASSIGN_OR_RETURN(seeds, ParseSeeds(choice.seeds));
  }
  std::vector<TrainRequest> requests;
  for (const uint32_t seed : seeds) {
    ResolvedConfig own = resolved;
    own.config.set_seed(seed);
    LRA_ASSIGN_OR_RETURN(std::string checkpoint, StartSeed(choice, requests.empty(), &own));
    requests.push_back(RequestOfSeed(choice, own, seeds.size() > 1));
    requests.back().start_checkpoint = std::move(checkpoint);
  }
  return requests;
}

std::string DefaultRunDirectory(const ExperimentConfig& config, const std::string& data_dir) {
  std::string name = ExperimentName(config);
  name.insert(name.rfind("-s"), DataInName(config.task(), data_dir));  // the seed stays last
  return JoinPath("runs", name);
}

// The folder's name says nothing about what is in it, so the fingerprints of its splits are taken.
std::string DataInName(const std::string& task, const std::string& data_dir) {
  if (data_dir.empty() || IsSameFolder(data_dir, DefaultDataDirectory(task))) return "";
  const std::string digest = DataDigest(data_dir);
  return digest.empty() ? "" : absl::StrCat("-data-", ShortFingerprint(digest));
}

std::string DataFolderOf(const std::string& task, const std::string& data_dir) {
  return data_dir.empty() ? DefaultDataDirectory(task) : data_dir;
}

DataIdentity DataOfRun(const ExperimentConfig& config, const std::string& data_dir) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(DataFolderOf(config.task(), data_dir));
  if (!manifest.ok() || !ResolveSplitRule(*manifest, config.view()).ok()) return DataIdentity();
  return IdentifyData(*manifest, config.view());
}

std::string DataDigest(const std::string& data_dir) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(data_dir);
  if (!manifest.ok()) return "";
  std::string splits;
  for (const ManifestSplit& split : manifest->splits())
    absl::StrAppend(&splits, split.name(), "=", split.content_fingerprint(), "\n");
  return Sha256Hex(splits);
}

absl::Status CheckRunDirectory(const TrainRequest& request) {
  const std::string& out = request.runtime.out_dir();
  if (!HoldsRun(out)) return CheckIsNoFolderOfRuns(out);
  if (const auto record = ReadRunRecord(out); record.ok())
    LRA_RETURN_IF_ERROR(CheckIsNoEvaluation(*record, out));
  if (request.resume) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      out, " holds a run already; add --resume to go on with it, or choose another --out"));
}

}  // namespace lra
