#include "absl/strings/match.h"
#include "lra/config_check.h"
#include "run_folder/checkpoint.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// A checkpoint's state below its seal.
LRA_FUZZ_TARGET(checkpoint_state) {
  static const lra::FuzzFolder folder("checkpoint_state");
  folder.WriteSealed("state.textproto", input);
  const auto state = lra::LoadCheckpointState(folder.path());
  if (!state.ok()) {
    LRA_CHECK(absl::StrContains(state.status().message(), "state.textproto")) << state.status();
    return;
  }
  LRA_CHECK(state->best_validation_accuracy() == 0);  // the earlier field, converted
  lra::CheckStoredConfig(state->config()).IgnoreError();
}
