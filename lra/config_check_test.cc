#include "lra/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

std::vector<std::string> WarningsWith(const std::vector<std::string>& sets) {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  for (const std::string& set : sets) EXPECT_EQ(builder.Set(set), absl::OkStatus());
  const auto resolved = builder.Build();
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved->warnings;
}

TEST(CheckConfigTest, FieldsThatSayNothingAreNamedWhereTheUserSetThem) {
  EXPECT_THAT(WarningsWith({}), testing::Not(testing::Contains(testing::HasSubstr("nothing"))));
  EXPECT_THAT(
      WarningsWith({"schedule.plateau_factor=0.5"}),
      testing::Contains("schedule.plateau_factor=0.5 changes nothing, because schedule.kind is "
                        "COSINE; it counts as a difference of settings all the same"));
  EXPECT_THAT(WarningsWith({"schedule.kind=PLATEAU", "schedule.plateau_factor=0.5",
                            "schedule.plateau_patience_evaluations=3"}),
              testing::Not(testing::Contains(testing::HasSubstr("nothing"))));
  EXPECT_THAT(WarningsWith({"evaluation.step=5"}),
              testing::Contains(testing::HasSubstr("evaluation.selection is BEST_VALIDATION")));
}

TEST(CheckConfigTest, ASelectedStepIsAStepOfTheRun) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  for (const char* set :
       {"train.steps=10", "evaluation.selection=FIXED_STEP", "evaluation.step=11"})
    ASSERT_TRUE(builder.Set(set).ok());
  EXPECT_EQ(builder.Build().status(),
            absl::InvalidArgumentError("evaluation.step: is 11, must be at most train.steps, 10"));
}

}  // namespace
}  // namespace lra
