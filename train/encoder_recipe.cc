#include "train/encoder_recipe.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/checkpoint_files.h"
#include "run_folder/find_checkpoint.h"

namespace lra {
namespace {

std::string SplitOf(const DataIdentity& data, const std::string& split) {
  const auto found = data.split_fingerprint().find(split);
  return found == data.split_fingerprint().end() ? "" : found->second;
}

}  // namespace

bool IsEncoderOfEachSeed(absl::string_view path) { return absl::StrContains(path, kSeedPlace); }

absl::Status CheckEncoderPath(absl::string_view path) {
  if (!absl::StrContains(path, kAttentionPlace) || IsEncoderOfEachSeed(path))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--init-from ", path, ": it has ", kAttentionPlace, " and no ", kSeedPlace,
      ", for encoders that each seed has of its own; name one run, or one for each seed"));
}

absl::StatusOr<OwnEncoder> FindOwnEncoder(absl::string_view path, const ExperimentConfig& config) {
  const std::string run = absl::StrReplaceAll(
      path, {{kSeedPlace, absl::StrCat(config.seed())}, {kAttentionPlace, MethodOf(config)}});
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(run));
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(checkpoint));
  if (const std::string note = DescribeUnselected(run, checkpoint); !note.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--init-from ", note, ", which is another recipe than that of runs that have ended; go on ",
        "with it first"));
  }
  if (state.config().seed() != config.seed()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--init-from ", run, ": it is of seed ", state.config().seed(), ", and the run of seed ",
        config.seed(), "; with ", kSeedPlace, " each starts from the encoder of its own seed"));
  }
  const EncoderName name = {absl::StrContains(path, kAttentionPlace),
                            !FileExists(JoinPath(run, kCheckpointFolder))};
  return OwnEncoder{checkpoint, state.weights_sha256(), EncoderRecipe(state, config, name)};
}

std::string EncoderRecipe(const CheckpointState& other, const ExperimentConfig& config,
                          const EncoderName& name) {
  ExperimentConfig made = other.config();
  if (name.is_of_attention && Fingerprint(made.attention()) == Fingerprint(config.attention()))
    made.clear_attention();
  const bool is_without_labels = made.has_pretrain() && other.pretrain().steps() == 0;
  return Sha256Hex(absl::StrCat(CellFingerprint(made), "\ntrain ", SplitOf(other.data(), "train"),
                                "\nvalidation ", SplitOf(other.data(), "validation"),
                                is_without_labels ? "\nwithout labels" : "",
                                name.is_of_step ? absl::StrCat("\nstep ", other.step()) : ""));
}

}  // namespace lra
