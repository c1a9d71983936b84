// Encoders that seeds have of their own: where each lies, and how all of them were made.
#ifndef LRA_TRAIN_ENCODER_RECIPE_H_
#define LRA_TRAIN_ENCODER_RECIPE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"
#include "run_folder/checkpoint_state.pb.h"

namespace lra {

// What --init-from says in place of a number and of a name: the run's seed, and its attention (or
// block, where it has no attention), 'runs/short/{attention}-s{seed}'.
inline constexpr char kSeedPlace[] = "{seed}";
inline constexpr char kAttentionPlace[] = "{attention}";

// Whether the path names an encoder for each seed.
bool IsEncoderOfEachSeed(absl::string_view path);
// InvalidArgument for a path with {attention} and without {seed}: one encoder for all seeds of an
// attention would put each attention into a table of its own.
absl::Status CheckEncoderPath(absl::string_view path);

// An encoder that is named by a path with {seed}.
struct OwnEncoder {
  std::string checkpoint;
  std::string weights_sha256;
  std::string recipe;  // EncoderRecipe()
};

// The one of a run of `config`. InvalidArgument where the path leads to a run of another seed, to
// one that has not ended or that diverged: such encoders are not made by one recipe. The errors of
// FindCheckpoint and LoadCheckpointState.
absl::StatusOr<OwnEncoder> FindOwnEncoder(absl::string_view path, const ExperimentConfig& config);

// What a path says of the encoders besides where they lie.
struct EncoderName {
  bool is_of_attention = false;  // it has {attention}: each attention has its own
  bool is_of_step = false;       // it leads to a checkpoint, not to a run, which selects its own
};

// SHA-256, as 64 hexadecimal digits, of how the other run's weights were made but for its seed:
// configuration, data, whether they have seen labels, and their step where the path names it. The
// other run's attention does not count where each attention has its own and a run of `config` has
// the same, nor does what its protocol and preset say of that method alone, so that such methods
// are of one table. What that run began from counts as its own configuration says: by recipe, or,
// where all seeds share it, by weights. The errors of ConfigBuilder, of rules that are not there.
absl::StatusOr<std::string> EncoderRecipe(const CheckpointState& other,
                                          const ExperimentConfig& config, const EncoderName& name);

}  // namespace lra

#endif  // LRA_TRAIN_ENCODER_RECIPE_H_
