#include "train/encoder_recipe.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/config.h"
#include "lra/config_check.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/protocol_rules.h"
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

// The configuration with what protocol and preset say of all methods in place of what they say of
// its own, whose attention is left out.
absl::StatusOr<ExperimentConfig> WithoutMethod(const CheckpointState& state) {
  ResolvedConfig to{.config = state.config()}, of_all;
  to.config.clear_attention();
  ConfigBuilder builder(state.config().task());
  for (const auto& [path, origin] : state.provenance()) {
    if (!IsMethodRule(origin) || absl::StartsWith(path, "attention.")) continue;
    if (!of_all.config.has_task()) {
      LRA_RETURN_IF_ERROR(builder.AddProtocol(state.config().protocol()));
      LRA_RETURN_IF_ERROR(builder.AddPreset(state.config().preset()));
      of_all.config = builder.config();
      of_all.config.set_task(state.config().task());
    }
    LRA_RETURN_IF_ERROR(RestoreField(of_all, path, &to));
  }
  return to.config;
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
  LRA_ASSIGN_OR_RETURN(const std::string recipe, EncoderRecipe(state, config, name));
  return OwnEncoder{checkpoint, state.weights_sha256(), recipe};
}

absl::StatusOr<std::string> EncoderRecipe(const CheckpointState& other,
                                          const ExperimentConfig& config, const EncoderName& name) {
  ExperimentConfig made = other.config();
  if (name.is_of_attention && Fingerprint(made.attention()) == Fingerprint(config.attention())) {
    LRA_ASSIGN_OR_RETURN(made, WithoutMethod(other));
  }
  const bool is_without_labels = made.has_pretrain() && other.pretrain().steps() == 0;
  return Sha256Hex(absl::StrCat(CellFingerprint(made), "\ntrain ", SplitOf(other.data(), "train"),
                                "\nvalidation ", SplitOf(other.data(), "validation"),
                                is_without_labels ? "\nwithout labels" : "",
                                name.is_of_step ? absl::StrCat("\nstep ", other.step()) : ""));
}

}  // namespace lra
