#include "eval/scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lra/status_macros.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ExampleSums> Score(const Guesses& guesses) {
  return ScorerRegistry::Get().Create("scorer", kCategorical).value()->Score(guesses);
}

TEST(CategoricalScorerTest, HandComputed) {
  // Row 0: softmax of (0, ln 3) is (1/4, 3/4). Row 1: equal logits, so 1/2 each and class 0 wins.
  const std::vector<float> logits = {0, std::log(3.0f), 5, 5};
  const auto sums = Score({logits, std::vector<int32_t>{1, 1}, 2});
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_THAT(sums->counts.at(kTargets), ElementsAre(1, 1));
  EXPECT_THAT(sums->counts.at(kCorrect), ElementsAre(1, 0));
  EXPECT_NEAR(sums->totals.at(kNats)[0], std::log(4.0 / 3.0), 1e-7);
  EXPECT_NEAR(sums->totals.at(kNats)[1], std::log(2.0), 1e-7);
  const Sums total = sums->Total();
  EXPECT_THAT(NamesOf(total), ElementsAre(kCorrect, kNats, kTargets));
  EXPECT_EQ(CountOf(total, kTargets), 2);
  EXPECT_EQ(CountOf(total, kCorrect), 1);
  EXPECT_NEAR(TotalOf(total, kNats), std::log(4.0 / 3.0) + std::log(2.0), 1e-7);
}

TEST(CategoricalScorerTest, TargetsOfOneExampleAreItsOwnSums) {
  const std::vector<float> logits = {0, 1, 1, 0, 0, 1, 1, 0};
  const std::vector<int32_t> targets = {1, 1, 1, 0};
  const std::vector<int64_t> examples = {2, 0, 2, 2};
  const auto sums = Score({logits, targets, 2, examples, 3});
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_THAT(sums->counts.at(kTargets), ElementsAre(1, 0, 3));
  EXPECT_THAT(sums->counts.at(kCorrect), ElementsAre(0, 0, 3));
  const double right = std::log1p(std::exp(-1.0));
  EXPECT_NEAR(sums->totals.at(kNats)[0], right + 1, 1e-12);
  EXPECT_EQ(sums->totals.at(kNats)[1], 0);
  EXPECT_NEAR(sums->totals.at(kNats)[2], 3 * right, 1e-12);
}

// All tokens of these examples are given.
TEST(CategoricalScorerTest, ExamplesWithoutTargetsHaveSumsOfNothing) {
  const auto sums = Score({.classes = 2, .example_count = 3});
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_THAT(sums->counts.at(kTargets), ElementsAre(0, 0, 0));
  EXPECT_THAT(sums->totals.at(kNats), ElementsAre(0, 0, 0));
  EXPECT_TRUE(Score({.classes = 2})->counts.at(kTargets).empty());
}

TEST(CategoricalScorerTest, TiesGoToTheLowestClass) {
  const std::vector<float> logits = {1, 2, 2};
  EXPECT_THAT(Score({logits, std::vector<int32_t>{1}, 3})->counts.at(kCorrect), ElementsAre(1));
  EXPECT_THAT(Score({logits, std::vector<int32_t>{2}, 3})->counts.at(kCorrect), ElementsAre(0));
}

TEST(CategoricalScorerTest, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits = {3e38f, -3e38f, 1e4f, 1e4f + 1};
  const auto sums = Score({logits, std::vector<int32_t>{0, 0}, 2});
  ASSERT_TRUE(sums.ok());
  EXPECT_NEAR(TotalOf(sums->Total(), kNats), std::log1p(std::exp(1.0)), 1e-12);
}

TEST(SumsTest, PickedExamplesInTheirOrder) {
  ExampleSums sums;
  sums.counts = {{kTargets, {1, 4, 2}}};
  sums.totals = {{kNats, {0.5, 2, 0.25}}};
  const ExampleSums picked = sums.Pick({2, 0});
  EXPECT_THAT(picked.counts.at(kTargets), ElementsAre(2, 1));
  EXPECT_THAT(picked.totals.at(kNats), ElementsAre(0.25, 0.5));
  Sums one;
  picked.Get(1, &one);
  EXPECT_EQ(CountOf(one, kTargets), 1);
  EXPECT_EQ(TotalOf(one, kNats), 0.5);
}

TEST(SumsTest, ExamplesAreAddedInTheirPlaces) {
  ExampleSums sums, part;
  part.counts[kTargets] = {0, 3};
  part.totals[kNats] = {0, 0.5};
  sums.Add(part);
  part.counts[kTargets] = {1, 1};
  sums.Add(part);
  EXPECT_THAT(sums.counts.at(kTargets), ElementsAre(1, 4));
  EXPECT_THAT(sums.totals.at(kNats), ElementsAre(0, 1));
}

TEST(CategoricalScorerTest, NothingIsNoError) {
  const auto sums = Score({{}, {}, 10});
  ASSERT_TRUE(sums.ok());
  EXPECT_EQ(CountOf(sums->Total(), kTargets), 0);
  EXPECT_EQ(TotalOf(sums->Total(), kNats), 0);
}

TEST(CategoricalScorerTest, ErrorsNameTheExample) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0, 1, 2, bad};
    const absl::Status status = Score({logits, std::vector<int32_t>{0, 0}, 2}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("example 1: the logit of class 1"));
    EXPECT_TRUE(IsNotFinite(status));
    EXPECT_TRUE(IsNotFinite(Annotate(status, "validation"))) << "annotated, it is another error";
  }
  const std::vector<float> logits = {0, 1};
  EXPECT_THAT(std::string(Score({logits, std::vector<int32_t>{2}, 2}).status().message()),
              HasSubstr("example 0: label 2 is outside 0 .. 1"));
  const absl::Status misplaced = Score({logits, std::vector<int32_t>{-1}, 2}).status();
  EXPECT_EQ(misplaced.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(IsNotFinite(misplaced));
  EXPECT_EQ(Score({logits, std::vector<int32_t>{0, 0}, 2}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::vector<int64_t> examples = {0, 0};
  EXPECT_EQ(Score({logits, std::vector<int32_t>{0}, 2, examples, 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lra
