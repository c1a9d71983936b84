#include "absl/strings/str_split.h"
#include "lra/config.h"
#include "tests/fuzz/fuzz_target.h"

// What stands behind --set, one assignment a line, on a configuration with an attention's options.
LRA_FUZZ_TARGET(config_set) {
  static const auto* const file =
      new absl::StatusOr<lra::AttentionFile>(lra::LoadAttentionFile("cosformer"));
  LRA_CHECK(file->ok()) << file->status();
  lra::ExperimentConfig config;
  *config.mutable_attention() = (*file)->attention();
  for (const absl::string_view line : absl::StrSplit(input, '\n')) {
    const absl::Status set = lra::SetField(&config, line);
    LRA_CHECK(set.ok() || set.code() == absl::StatusCode::kInvalidArgument) << set;
    LRA_CHECK(lra::CheckRanges(config).ok()) << line;
  }
  // Every leaf has a path and a value, and can be compared.
  LRA_CHECK(lra::ComparedFields(config).size() <= lra::LeafFields(config).size());
}
