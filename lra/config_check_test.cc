#include "lra/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lra/config.h"

namespace lra {
namespace {

TEST(CheckConfigTest, IsWhatBuildDemands) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  const ExperimentConfig whole = builder.Build()->config;
  EXPECT_TRUE(CheckStoredConfig(whole).ok()) << CheckStoredConfig(whole);
  ExperimentConfig part = whole;
  part.clear_train();
  EXPECT_EQ(CheckStoredConfig(part).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(CheckStoredConfig(part).message()),
              testing::StartsWith("unset: train.steps, train.batch_examples"));
  part = whole;
  part.mutable_model()->set_heads(3);
  EXPECT_THAT(std::string(CheckStoredConfig(part).message()),
              testing::HasSubstr("does not divide"));
  part = whole;
  part.mutable_model()->set_layers(0);
  EXPECT_THAT(std::string(CheckStoredConfig(part).message()), testing::HasSubstr("model.layers"));
}

}  // namespace
}  // namespace lra
