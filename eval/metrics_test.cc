#include "eval/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace lra {
namespace {

using ::testing::HasSubstr;

TEST(MetricsTest, HandComputed) {
  // Row 0: softmax of (0, ln 3) is (1/4, 3/4). Row 1: equal logits, so 1/2 each and class 0 wins.
  const std::vector<float> logits = {0, std::log(3.0f), 5, 5};
  const auto score = ScoreLogits(logits, std::vector<int32_t>{1, 1}, 2);
  ASSERT_TRUE(score.ok()) << score.status();
  EXPECT_EQ(score->examples, 2);
  EXPECT_EQ(score->correct, 1);
  EXPECT_NEAR(score->loss_sum, std::log(4.0 / 3.0) + std::log(2.0), 1e-7);
  EXPECT_DOUBLE_EQ(score->Accuracy(), 0.5);
  EXPECT_NEAR(score->MeanLoss(), score->loss_sum / 2, 1e-15);
}

TEST(MetricsTest, TiesGoToTheLowestClass) {
  const std::vector<float> logits = {1, 2, 2};
  EXPECT_EQ(ScoreLogits(logits, std::vector<int32_t>{1}, 3)->correct, 1);
  EXPECT_EQ(ScoreLogits(logits, std::vector<int32_t>{2}, 3)->correct, 0);
}

TEST(MetricsTest, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits = {3e38f, -3e38f, 1e4f, 1e4f + 1};
  const auto score = ScoreLogits(logits, std::vector<int32_t>{0, 0}, 2);
  ASSERT_TRUE(score.ok());
  EXPECT_NEAR(score->loss_sum, std::log1p(std::exp(1.0)), 1e-12);
}

TEST(MetricsTest, MergeEqualsTheWhole) {
  const std::vector<float> logits = {0.5, 1, -1, 2, 0.25, 0.75, 3, -2};
  const std::vector<int32_t> labels = {1, 0, 0, 0};
  const auto whole = ScoreLogits(logits, labels, 2);
  auto part =
      ScoreLogits(absl::MakeSpan(logits).subspan(0, 2), absl::MakeSpan(labels).subspan(0, 1), 2);
  part->Merge(
      *ScoreLogits(absl::MakeSpan(logits).subspan(2), absl::MakeSpan(labels).subspan(1), 2));
  EXPECT_EQ(part->examples, whole->examples);
  EXPECT_EQ(part->correct, whole->correct);
  EXPECT_NEAR(part->loss_sum, whole->loss_sum, 1e-12);
}

TEST(MetricsTest, EmptyHasNoRatio) {
  const auto score = ScoreLogits({}, {}, 10);
  ASSERT_TRUE(score.ok());
  EXPECT_EQ(score->Accuracy(), 0);
  EXPECT_EQ(score->MeanLoss(), 0);
}

TEST(MetricsTest, ErrorsNameTheExample) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0, 1, 2, bad};
    const auto score = ScoreLogits(logits, std::vector<int32_t>{0, 0}, 2);
    EXPECT_EQ(score.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(score.status().message()),
                HasSubstr("example 1: the logit of class 1"));
  }
  const std::vector<float> logits = {0, 1};
  EXPECT_THAT(std::string(ScoreLogits(logits, std::vector<int32_t>{2}, 2).status().message()),
              HasSubstr("example 0: label 2 is outside 0 .. 1"));
  EXPECT_EQ(ScoreLogits(logits, std::vector<int32_t>{-1}, 2).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ScoreLogits(logits, std::vector<int32_t>{0, 0}, 2).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lra
