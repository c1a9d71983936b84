#include "eval/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lra/random.h"

namespace lra {
namespace {

TEST(StatisticsTest, ClopperPearsonClosedForms) {
  // With no success the upper end solves (1 - p)^n = tail; with all successes the lower end solves
  // p^n = tail.
  EXPECT_EQ(ClopperPearson(0, 10, 0.95).low, 0);
  EXPECT_NEAR(ClopperPearson(0, 10, 0.95).high, 1 - std::pow(0.025, 0.1), 1e-12);
  EXPECT_NEAR(ClopperPearson(10, 10, 0.95).low, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(ClopperPearson(10, 10, 0.95).high, 1);
  // One of two: 1 - (1-p)^2 = tail at the lower end, 1 - p^2 = tail at the upper.
  EXPECT_NEAR(ClopperPearson(1, 2, 0.90).low, 1 - std::sqrt(0.95), 1e-12);
  EXPECT_NEAR(ClopperPearson(1, 2, 0.90).high, std::sqrt(0.95), 1e-12);
}

TEST(StatisticsTest, ClopperPearsonEndsSolveTheirEquations) {
  const Interval interval = ClopperPearson(720, 2000, 0.95);
  EXPECT_NEAR(BinomialUpperTail(720, 2000, interval.low), 0.025, 1e-9);
  EXPECT_NEAR(1 - BinomialUpperTail(721, 2000, interval.high), 0.025, 1e-9);
}

TEST(StatisticsTest, AShareOfAnEffectiveNumberOfExamples) {
  const Interval whole = ClopperPearson(720, 2000, 0.95);
  EXPECT_DOUBLE_EQ(ClopperPearsonOfShare(0.36, 2000, 0.95).low, whole.low);
  EXPECT_DOUBLE_EQ(ClopperPearsonOfShare(0.36, 2000, 0.95).high, whole.high);
  // Between two whole numbers lies what is between their intervals.
  EXPECT_GT(ClopperPearsonOfShare(0, 10.5, 0.95).high, ClopperPearson(0, 11, 0.95).high);
  EXPECT_LT(ClopperPearsonOfShare(0, 10.5, 0.95).high, ClopperPearson(0, 10, 0.95).high);
  EXPECT_EQ(ClopperPearsonOfShare(1, 10.5, 0.95).high, 1);
}

TEST(StatisticsTest, MeanAndDeviation) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(Mean(values), 5);
  EXPECT_DOUBLE_EQ(SampleStandardDeviation(values), std::sqrt(32.0 / 7.0));
}

TEST(StatisticsTest, BinomialUpperTailByHand) {
  EXPECT_NEAR(BinomialUpperTail(2, 3, 0.5), 4.0 / 8.0, 1e-14);
  EXPECT_NEAR(BinomialUpperTail(4, 4, 0.5), 1.0 / 16.0, 1e-14);
  EXPECT_EQ(BinomialUpperTail(0, 4, 0.5), 1);
  EXPECT_EQ(BinomialUpperTail(3, 4, 0), 0);
}

TEST(StatisticsTest, ClopperPearsonCoversAtLeastItsConfidence) {
  RandomStream stream(7, RandomDomain::kTest, {1, 0, 0});
  constexpr int kRuns = 2000, kExamples = 80;
  int covered = 0;
  for (int run = 0; run < kRuns; ++run) {
    int correct = 0;
    for (int i = 0; i < kExamples; ++i) correct += stream.Uniform() < 0.36;
    const Interval interval = ClopperPearson(correct, kExamples, 0.95);
    covered += interval.low <= 0.36 && 0.36 <= interval.high;
  }
  // At least 95 % (three standard errors below allowed), and not the whole line.
  EXPECT_GE(covered, kRuns * 0.95 - 3 * std::sqrt(kRuns * 0.95 * 0.05));
  EXPECT_LE(covered, kRuns * 0.985);
}

}  // namespace
}  // namespace lra
