#include "models/parameter_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/config.h"

namespace lra {
namespace {

TaskSpec Spec() {
  TaskSpec spec;
  spec.set_vocabulary_size(17);
  spec.set_classes(10);
  spec.set_max_length_tokens(64);
  return spec;
}

ExperimentConfig Config(const char* attention) {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("fair").ok());
  EXPECT_TRUE(builder.AddPreset("smoke").ok());
  EXPECT_TRUE(builder.AddAttention(attention).ok());
  const auto resolved = builder.Build();
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved->config;
}

// By hand, E = 32, M = 64, one layer: tokens 17 E; q, k, v, o 4 E^2; MLP 2 E M + M + E; three norms
// of 2 E; head E M + M + 10 M + 10.
TEST(ParameterCountTest, OfATransformer) {
  const int64_t expected =
      17 * 32 + 4 * 32 * 32 + 2 * 32 * 64 + 64 + 32 + 3 * 64 + 32 * 64 + 64 + 10 * 64 + 10;
  EXPECT_EQ(*CountParameters(Config("transformer"), Spec()), expected);
  EXPECT_EQ(*CountTransformerParameters(Config("transformer"), Spec()), expected);
}

TEST(ParameterCountTest, TheReferenceKeepsAllButTheAttention) {
  const int64_t transformer = *CountParameters(Config("transformer"), Spec());
  // Linformer owns projections [rank, N]; FNet has no projections at all.
  EXPECT_GT(*CountParameters(Config("linformer"), Spec()), transformer);
  EXPECT_LT(*CountParameters(Config("fnet"), Spec()), transformer);
  EXPECT_EQ(*CountTransformerParameters(Config("linformer"), Spec()), transformer);
  EXPECT_EQ(*CountTransformerParameters(Config("fnet"), Spec()), transformer);
}

TEST(ParameterCountTest, BesideAReference) {
  const ParameterDifference smaller = CompareParameters(950, 1000);
  EXPECT_EQ(smaller.parameters, 950);
  EXPECT_EQ(smaller.difference, -50);
  EXPECT_DOUBLE_EQ(smaller.percent, -5.0);
  EXPECT_FALSE(smaller.is_larger);
  EXPECT_FALSE(CompareParameters(1100, 1000).is_larger);  // a tenth is allowed
  EXPECT_TRUE(CompareParameters(1101, 1000).is_larger);
}

TEST(ParameterCountTest, InWords) {
  EXPECT_EQ(DescribeParameters(1100, 1000),
            "1,100 parameters, +10.0 % beside the transformer's 1,000");
  EXPECT_THAT(DescribeParameters(1101, 1000), testing::HasSubstr("above the +10 %"));
  EXPECT_EQ(DescribeParameters(950, 1000), "950 parameters, -5.0 % beside the transformer's 1,000");
}

}  // namespace
}  // namespace lra
