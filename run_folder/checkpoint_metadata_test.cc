#include "run_folder/checkpoint_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lra/config.h"
#include "lra/fingerprint.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CheckpointState MakeState() {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("cosformer").ok());
  CheckpointState state;
  state.set_format_version(1);
  *state.mutable_config() = builder.Build()->config;
  state.mutable_config()->set_seed(4294967295u);
  state.mutable_spec()->set_name("listops");
  state.mutable_spec()->set_version(1);
  for (const char* name : {"", "[MIN", "\"\\ \n", "é"}) state.mutable_spec()->add_token_names(name);
  state.mutable_data()->set_task("listops");
  (*state.mutable_data()->mutable_split_fingerprint())["train"] = "abc";
  (*state.mutable_data()->mutable_split_fingerprint())["test"] = "def";
  state.set_step(1LL << 40);
  state.set_best_step(-1);
  state.set_best_validation(0.1 + 0.2);
  return state;
}

TEST(CheckpointMetadataTest, HoldsWhatAModelAndItsDataAre) {
  const CheckpointState state = MakeState();
  const auto metadata = CheckpointMetadata(state);
  const auto read = StateFromMetadata("w.safetensors", metadata);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Fingerprint(*read), Fingerprint(state));
  EXPECT_EQ(metadata.at("lra.step"), "1099511627776");
  EXPECT_EQ(
      metadata.at("lra.state"),
      R"({"step":"1099511627776","best_step":"-1","best_validation_accuracy":0.30000000000000004})");
  EXPECT_EQ(metadata.at("lra.protocol"), state.config().protocol());
  // The keys are read as a Python program would read them.
  EXPECT_EQ(nlohmann::json::parse(metadata.at("lra.spec"))["token_names"][1], "[MIN");
  EXPECT_EQ(nlohmann::json::parse(metadata.at("lra.config"))["attention"]["name"], "cosformer");
  EXPECT_EQ(nlohmann::json::parse(metadata.at("lra.data"))["split_fingerprint"]["test"], "def");
}

// Equal weights must be equal files: the metadata says nothing about how a run came about, and
// stays within a few KB.
TEST(CheckpointMetadataTest, DependsOnNothingElseAndIsBounded) {
  CheckpointState state = MakeState();
  const auto metadata = CheckpointMetadata(state);
  state.mutable_efficiency()->set_wall_seconds(3);
  (*state.mutable_provenance())["seed"] = "--seeds";
  for (int i = 0; i < 1000; ++i) state.add_curve()->set_step(i);
  state.mutable_sums()->set_steps(7);
  EXPECT_EQ(CheckpointMetadata(state), metadata);
  size_t size_bytes = 0;
  for (const auto& [key, value] : metadata) size_bytes += key.size() + value.size();
  EXPECT_LT(size_bytes, 8192);
}

TEST(CheckpointMetadataTest, ErrorsNameFileAndKey) {
  const auto refusal = [](const std::string& key, const std::string& value) {
    auto metadata = CheckpointMetadata(MakeState());
    metadata[key] = value;
    const absl::Status status = StateFromMetadata("w.safetensors", metadata).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << key;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal("lra.config", "{"),
              AllOf(HasSubstr("w.safetensors"), HasSubstr("lra.config")));
  EXPECT_THAT(refusal("lra.config", R"({"model":{"layers":0}})"),
              AllOf(HasSubstr("lra.config"), HasSubstr("model.layers")));
  EXPECT_THAT(refusal("lra.spec", R"({"colour":1})"),
              AllOf(HasSubstr("lra.spec"), HasSubstr("colour")));
  EXPECT_THAT(refusal("lra.data", "[]"), HasSubstr("lra.data"));
  EXPECT_THAT(refusal("lra.state", "nothing"), HasSubstr("lra.state"));
  EXPECT_THAT(refusal("lra.format_version", "one"), HasSubstr("lra.format_version"));
  const absl::Status foreign = StateFromMetadata("w.safetensors", {{"format", "pt"}}).status();
  EXPECT_EQ(foreign.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("\"lra.state\""));
}

}  // namespace
}  // namespace lra
