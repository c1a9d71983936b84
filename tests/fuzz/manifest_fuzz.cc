#include <string>

#include "absl/strings/match.h"
#include "datasets/manifest.h"
#include "datasets/manifest.pb.h"
#include "lra/textproto.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(manifest) {
  lra::Manifest manifest;
  const absl::Status parsed = lra::ParseTextProto(input, "manifest.textproto", &manifest);
  if (!parsed.ok()) {
    LRA_CHECK(absl::StartsWith(parsed.message(), "manifest.textproto"));
    return;
  }
  const std::string text = lra::ToTextProto(manifest);
  lra::Manifest again;
  LRA_CHECK(lra::ParseTextProto(text, "written", &again).ok()) << text;
  LRA_CHECK(lra::ToTextProto(again) == text);
  if (!lra::ValidateManifest(manifest, "manifest.textproto").ok()) return;
  // No file's name leads out of the folder.
  for (const auto& split : manifest.splits()) {
    for (const auto& shard : split.shards()) {
      for (const auto& file : shard.files()) {
        LRA_CHECK(!absl::StrContains(file.name(), '/') && file.name() != "..") << file.name();
      }
    }
  }
}
