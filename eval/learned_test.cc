#include "eval/learned.h"

#include <gtest/gtest.h>

#include <vector>

#include "eval/crossed_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;

int CountAbove(char row) {
  int above = 0;
  for (const ExampleValues& run : RunsOf(row))
    above += IsAbove(DiscordanceOf(run, RunsOf('Z')[0])) ? 1 : 0;
  return above;
}

TEST(LearnedTest, GoldenLearned) {
  const Estimate d = AboveBaseline(RunsOf('A'), RunsOf('Z')[0]);
  EXPECT_NEAR(d.mean, 0.04, 1e-12);
  EXPECT_NEAR(MeanInterval(d, 0.95).low, 0.022999359, 5e-10);
  EXPECT_NEAR(UpperP(d, 0), 0.0013957493, 5e-11);
  EXPECT_EQ(CountAbove('A'), 3);
  EXPECT_TRUE(HasLearned(UpperP(d, 0), 3, 3));
}

TEST(LearnedTest, GoldenNotLearnedThoughMostRunsAreAbove) {
  const Estimate d = AboveBaseline(RunsOf('C'), RunsOf('Z')[0]);
  EXPECT_NEAR(d.mean, 0.034166667, 5e-10);
  EXPECT_NEAR(MeanInterval(d, 0.95).low, -0.012347576, 5e-10);
  EXPECT_NEAR(UpperP(d, 0), 0.045752709, 5e-10);
  EXPECT_EQ(CountAbove('C'), 2);
  EXPECT_FALSE(HasLearned(UpperP(d, 0), 2, 3));
}

TEST(LearnedTest, ABaselineIsHarderToBeAboveInBlocks) {
  const Estimate d = AboveBaseline(RunsOf('A'), RunsOf('Z')[0], 5);
  EXPECT_NEAR(d.mean, 0.04, 1e-12);
  EXPECT_EQ(d.example_degrees, 399);
  EXPECT_GT(UpperP(d, 0), 0.0013957493);
}

TEST(LearnedTest, OneRunNeverHasTheMarkAndHalfMustBeAbove) {
  EXPECT_FALSE(HasLearned(1e-9, 1, 1));
  EXPECT_TRUE(HasLearned(1e-9, 1, 2));
  EXPECT_FALSE(HasLearned(1e-9, 1, 3));
  EXPECT_TRUE(HasLearned(0.025, 2, 2));
  EXPECT_FALSE(HasLearned(0.0251, 2, 2));
}

}  // namespace
}  // namespace lra
