#include "models/size_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lra/experiment.h"
#include "models/block_facts.h"
#include "models/classifier.h"

namespace lra {
namespace {

TaskSpec SpecOfSizes() {
  TaskSpec spec;
  spec.set_vocabulary_size(17);
  spec.set_classes(10);
  spec.set_max_length_tokens(64);
  return spec;
}

ExperimentConfig ConfigOfSizes(const std::string& attention,
                               const std::vector<std::string>& sets = {}) {
  const auto resolved = ResolveExperiment({.task = "listops",
                                           .attention = attention,
                                           .protocol = "fair",
                                           .preset = "smoke",
                                           .sets = sets});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved->config;
}

// What a model has once it is made: parameters and buffers, in float32.
int64_t BytesWhenMade(const ExperimentConfig& config) {
  const auto model = Classifier::Create(config, SpecOfSizes());
  EXPECT_TRUE(model.ok()) << model.status();
  int64_t floats = (*model)->parameters().count();
  for (const Parameter& buffer : (*model)->parameters().buffers()) floats += buffer.value.numel();
  return floats * static_cast<int64_t>(sizeof(float));
}

TEST(SizeEstimateTest, CountsWhatEveryModelHasOnceItIsMade) {
  for (const std::string& attention : ConfigNames("attentions")) {
    SCOPED_TRACE(attention);
    const ExperimentConfig config = ConfigOfSizes(attention);
    const auto size = EstimateSize(config, SpecOfSizes(), 64);
    ASSERT_TRUE(size.ok()) << size.status();
    EXPECT_EQ(size->weight_bytes, BytesWhenMade(config));
    EXPECT_GE(size->training_bytes, size->weight_bytes + 12 * size->parameters);
  }
}

// By hand: 128 layers of q, k, v, o 4 E^2 and MLP 2 E M; all else is below a ten-thousandth.
TEST(SizeEstimateTest, AHugeModelIsCountedWithoutBeingMade) {
  const auto size =
      EstimateSize(ConfigOfSizes("transformer", {"model.width=65536", "model.mlp_width=262144",
                                                 "model.qkv_width=65536", "model.layers=128",
                                                 "model.head_width=64"}),
                   SpecOfSizes(), 64);
  ASSERT_TRUE(size.ok()) << size.status();
  const double layer = 4.0 * 65536 * 65536 + 2.0 * 65536 * 262144;
  EXPECT_NEAR(static_cast<double>(size->parameters), 128 * layer, 1e-4 * 128 * layer);
  EXPECT_NEAR(static_cast<double>(size->training_bytes), 16 * 128 * layer, 1e-3 * 2048 * layer);
  EXPECT_NEAR(size->operations_per_token, 6 * 128 * layer, 1e-3 * 768 * layer);
}

TEST(SizeEstimateTest, ActivationsGrowWithTokensAndTexts) {
  const ExperimentConfig config = ConfigOfSizes("transformer");
  TaskSpec pairs = SpecOfSizes();
  pairs.set_is_pair(true);
  const int64_t one = EstimateSize(config, SpecOfSizes(), 63)->activation_bytes;
  EXPECT_EQ(
      one, config.model().layers() * DescribeBlock(config, BatchSize{1, 63})->activation_bytes / 2);
  EXPECT_EQ(EstimateSize(config, SpecOfSizes(), 630)->activation_bytes, 10 * one);
  EXPECT_EQ(EstimateSize(config, pairs, 63)->activation_bytes, 2 * one);
}

}  // namespace
}  // namespace lra
