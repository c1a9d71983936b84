#include "models/encoder/sequences.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <vector>

namespace lra {
namespace {

HostBatch Batch(std::vector<int32_t> tokens, std::vector<int32_t> lengths) {
  HostBatch batch;
  batch.batch = static_cast<int64_t>(lengths.size());
  batch.length = static_cast<int64_t>(tokens.size()) / batch.batch;
  batch.tokens = std::move(tokens);
  batch.lengths = std::move(lengths);
  return batch;
}

PaddingRules Rules(bool has_cls, bool cls_as_first_token, bool zero_is_padding) {
  PaddingRules rules{ExperimentConfig()};
  rules.has_cls = has_cls;
  rules.cls_as_first_token = cls_as_first_token;
  rules.zero_is_padding = zero_is_padding;
  return rules;
}

void ExpectReal(const HostBatch& batch, const PaddingRules& rules, const at::Tensor& expected) {
  const at::Tensor real = RealPositions(FirstTexts(batch), rules);
  ASSERT_TRUE(real.defined());
  EXPECT_TRUE(at::equal(real, expected.to(at::kBool))) << real;
}

TEST(RealPositionsTest, FollowTheLengths) {
  const HostBatch batch = Batch({1, 2, 3, 4, 5, 6, 0, 0}, {4, 2});
  ExpectReal(batch, Rules(false, false, false), at::tensor({1, 1, 1, 1, 1, 1, 0, 0}).view({2, 4}));
  ExpectReal(batch, Rules(true, true, false),
             at::tensor({1, 1, 1, 1, 1, 1, 1, 1, 0, 0}).view({2, 5}));
  EXPECT_FALSE(
      RealPositions(FirstTexts(Batch({1, 2, 3, 4}, {2, 2})), Rules(true, true, true)).defined());
}

TEST(RealPositionsTest, ZeroIsPaddingWhereverItStands) {
  const HostBatch batch = Batch({0, 5, 0, 7, 3, 0, 0, 0}, {4, 4});
  EXPECT_FALSE(RealPositions(FirstTexts(batch), Rules(true, false, false)).defined());
  ExpectReal(batch, Rules(false, false, true), at::tensor({0, 1, 0, 1, 1, 0, 0, 0}).view({2, 4}));
}

TEST(RealPositionsTest, ClsIsRealOrWhatTheFirstTokenIs) {
  const HostBatch batch = Batch({0, 5, 0, 7, 3, 0, 0, 0}, {4, 4});
  ExpectReal(batch, Rules(true, false, true),
             at::tensor({1, 0, 1, 0, 1, 1, 1, 0, 0, 0}).view({2, 5}));
  ExpectReal(batch, Rules(true, true, true),
             at::tensor({0, 0, 1, 0, 1, 1, 1, 0, 0, 0}).view({2, 5}));
}

TEST(RealPositionsTest, RulesAreTheConfigs) {
  ExperimentConfig config;
  const PaddingRules none(config);
  EXPECT_FALSE(none.has_cls || none.cls_as_first_token || none.zero_is_padding);
  config.mutable_model()->set_pooling(ModelConfig::CLS);
  config.mutable_model()->set_cls_mask(ModelConfig::AS_FIRST_TOKEN);
  config.mutable_view()->set_zero_is_padding(true);
  const PaddingRules all(config);
  EXPECT_TRUE(all.has_cls && all.cls_as_first_token && all.zero_is_padding);
}

TEST(LongestSequenceTest, OfTheLongestBatchAndCls) {
  ExperimentConfig config;
  config.mutable_view()->set_max_length_tokens(1000);
  EXPECT_EQ(LongestSequence(config), 1000);
  config.mutable_model()->set_pooling(ModelConfig::CLS);
  EXPECT_EQ(LongestSequence(config), 1001);
  config.mutable_view()->set_pad_to(DataView::POWER_OF_TWO);
  EXPECT_EQ(LongestSequence(config), 1025);
}

}  // namespace
}  // namespace lra
