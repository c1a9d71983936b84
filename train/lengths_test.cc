#include "train/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/experiment.h"

namespace lra {
namespace {

using testing::HasSubstr;

// The check's answer where the longest sequence has 100 tokens.
absl::Status CheckWith(const char* attention, const std::vector<std::string>& sets) {
  const auto resolved = ResolveExperiment({.task = "listops",
                                           .attention = attention,
                                           .protocol = "fair",
                                           .preset = "smoke",
                                           .sets = sets});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  TaskSpec spec;
  spec.set_name("listops");
  spec.set_max_length_tokens(100);
  return CheckLengths(*resolved, spec);
}

TEST(CheckLengthsTest, ALengthThatNoSequenceHasIsAMistakeOfWhoGaveIt) {
  const absl::Status status = CheckWith("local", {"attention.options.block_tokens=101"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "attention.options.block_tokens: is 101 (--set), but the longest sequence of listops "
            "under this view has 100 tokens");
  EXPECT_EQ(CheckWith("local", {"attention.options.block_tokens=100"}), absl::OkStatus());
}

TEST(CheckLengthsTest, EveryKindOfLengthIsMarkedInItsProto) {
  for (const auto& [attention, option] :
       {std::pair("bigbird", "block_tokens"), std::pair("longformer", "window_tokens"),
        std::pair("nystromformer", "landmarks"), std::pair("reformer", "chunk_tokens"),
        std::pair("sinkhorn", "block_tokens"), std::pair("sparse", "block_tokens")}) {
    const std::string set = std::string("attention.options.") + option + "=101";
    EXPECT_THAT(std::string(CheckWith(attention, {set}).message()), HasSubstr(option)) << attention;
  }
}

// Numbers that are no lengths of a sequence may be as large as they like.
TEST(CheckLengthsTest, OtherOptionsAndConfigFilesAreNotItsBusiness) {
  EXPECT_EQ(CheckWith("bigbird", {"attention.options.random_blocks=101"}), absl::OkStatus());
  EXPECT_EQ(CheckWith("performer", {"attention.options.features=101"}), absl::OkStatus());
  for (const char* attention : {"longformer", "transformer", "local"})
    EXPECT_EQ(CheckWith(attention, {}), absl::OkStatus());
}

TEST(CheckLengthsTest, AConfigFileMaySayMoreThanAShortTaskHas) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok());
  ASSERT_TRUE(builder.AddPreset("smoke").ok());
  ASSERT_TRUE(builder.AddAttention("local").ok());
  TaskSpec spec;
  spec.set_max_length_tokens(10);  // local.textproto: 64
  EXPECT_EQ(CheckLengths(builder.Build().value(), spec), absl::OkStatus());
}

}  // namespace
}  // namespace lra
