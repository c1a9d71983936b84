#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "lra/config_check.h"
#include "run_folder/checkpoint_metadata.h"
#include "tests/fuzz/fuzz_target.h"

// What a weights file says of itself: a line for each key.
LRA_FUZZ_TARGET(weights_metadata) {
  static constexpr const char* kKeys[] = {"lra.format_version", "lra.state", "lra.config",
                                          "lra.spec", "lra.data"};
  const std::vector<std::string> lines = absl::StrSplit(input, '\n');
  std::map<std::string, std::string> metadata;
  for (size_t i = 0; i < std::min(lines.size(), std::size(kKeys)); ++i)
    metadata[kKeys[i]] = lines[i];
  const auto state = lra::StateFromMetadata("w.safetensors", metadata);
  if (!state.ok()) {
    LRA_CHECK(absl::StartsWith(state.status().message(), "w.safetensors: ")) << state.status();
    return;
  }
  lra::CheckStoredConfig(state->config()).IgnoreError();
  // What it says is said again in the same way.
  const auto again = lra::StateFromMetadata("again", lra::CheckpointMetadata(*state));
  LRA_CHECK(again.ok() && again->step() == state->step() &&
            again->format_version() == state->format_version());
}
