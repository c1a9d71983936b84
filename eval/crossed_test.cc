#include "eval/crossed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "eval/comparison.h"
#include "eval/crossed_test_util.h"
#include "eval/simulator_test_util.h"
#include "eval/statistics.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;
using ::lra::testing::Simulator;

CrossedMoments Moments(const std::vector<ExampleValues>& runs) { return MomentsOf(SumsOf(runs)); }

TEST(CrossedTest, GoldenMomentsOfARow) {
  const CrossedMoments a = Moments(RunsOf('A'));
  EXPECT_EQ(a.examples, 2000);
  EXPECT_DOUBLE_EQ(a.mean, 0.385);
  EXPECT_NEAR(a.msa, 0.05, 1e-12);
  EXPECT_NEAR(a.msb, 0.66065533, 5e-9);
  EXPECT_NEAR(a.mse, 0.024987494, 5e-10);
  EXPECT_NEAR(std::sqrt(a.seed_variance()), 0.0028867513, 5e-11);
  EXPECT_NEAR(std::sqrt(a.example_variance()), 0.010292941, 5e-10);
}

TEST(CrossedTest, GoldenCell) {
  const Estimate a = EstimateOf(Moments(RunsOf('A')));
  EXPECT_NEAR(HalfWidth(a, 0.95), 0.022790171, 5e-10);
  EXPECT_NEAR(EffectiveExamples(a, 2000, 0.95), 1754.2042, 5e-5);
  const Interval cell = ProportionInterval(a, 2000, 0.95);
  EXPECT_NEAR(cell.low, 0.36215271, 5e-9);
  EXPECT_NEAR(cell.high, 0.40823272, 5e-9);
}

TEST(CrossedTest, EqualRunsAreOneRun) {
  const ExampleValues run = RunsOf('A')[0];
  for (const std::vector<ExampleValues>& runs :
       {std::vector<ExampleValues>{run}, std::vector<ExampleValues>{run, run, run}}) {
    const Interval cell = ProportionInterval(Moments(runs), 0.95);
    EXPECT_NEAR(cell.low, 0.35866642, 5e-9) << runs.size();
    EXPECT_NEAR(cell.high, 0.40168602, 5e-9) << runs.size();
    const Interval exact = ClopperPearson(760, 2000, 0.95);
    EXPECT_NEAR(cell.low, exact.low, 1e-9);
    EXPECT_NEAR(cell.high, exact.high, 1e-9);
  }
}

TEST(CrossedTest, AllRightOrAllWrongIsNeverAPoint) {
  const std::vector<ExampleValues> right(3, ExampleValues(2000, 1.0));
  EXPECT_NEAR(ProportionInterval(Moments(right), 0.95).low, std::pow(0.025, 1 / 2000.0), 1e-12);
  EXPECT_NEAR(ProportionInterval(Moments(right), 0.95).low, 0.9982, 5e-5);
  EXPECT_EQ(ProportionInterval(Moments(right), 0.95).high, 1);
  const std::vector<ExampleValues> wrong(2, ExampleValues(10, 0.0));
  EXPECT_EQ(ProportionInterval(Moments(wrong), 0.95).low, 0);
  EXPECT_NEAR(ProportionInterval(Moments(wrong), 0.95).high, 1 - std::pow(0.025, 0.1), 1e-12);
}

TEST(CrossedTest, MeanSquaresByHand) {
  // x = {{1, 0, 1}, {0, 0, 1}}: m = 1/2, a = 2/3, 1/3, b = 1/2, 0, 1.
  const CrossedMoments moments = Moments({{1, 0, 1}, {0, 0, 1}});
  EXPECT_DOUBLE_EQ(moments.mean, 0.5);
  EXPECT_NEAR(moments.msa, 3 * (1.0 / 36 + 1.0 / 36), 1e-15);
  EXPECT_NEAR(moments.msb, 2 * (0.25 + 0.25) / 2, 1e-15);
  // What the total sum of squares, 3 - 6/4, leaves after seeds (1/6) and examples (1).
  EXPECT_NEAR(moments.mse, (3 - 1.5 - 1.0 / 6 - 1) / 2, 1e-15);
}

TEST(CrossedTest, ValuesNeedNotBeZeroOrOne) {
  // Adding a constant moves the mean and nothing else.
  std::vector<ExampleValues> runs = RunsOf('B');
  const CrossedMoments plain = Moments(runs);
  for (ExampleValues& run : runs) {
    for (double& x : run) x = 0.1 * x + 7;
  }
  const CrossedMoments moved = Moments(runs);
  EXPECT_NEAR(moved.mean, 0.1 * plain.mean + 7, 1e-12);
  EXPECT_NEAR(moved.msa, 0.01 * plain.msa, 1e-10);
  EXPECT_NEAR(moved.msb, 0.01 * plain.msb, 1e-10);
  EXPECT_NEAR(moved.mse, 0.01 * plain.mse, 1e-10);
}

TEST(CrossedTest, IntervalAndPAlwaysAgree) {
  const Estimate a = EstimateOf(Moments(RunsOf('A')));
  for (const double confidence : {0.5, 0.9, 0.95, 0.999, 1 - 1e-9}) {
    const double end = a.mean + HalfWidth(a, confidence);
    EXPECT_NEAR(TwoSidedP(a, end) / (1 - confidence), 1, 1e-6) << confidence;
  }
  EXPECT_EQ(TwoSidedP(a, a.mean), 1);
  EXPECT_NEAR(UpperP(a, a.mean - 0.01) + UpperP(a, a.mean + 0.01), 1, 1e-12);
  EXPECT_LT(UpperP(a, a.mean - 0.01), 0.5);
}

TEST(CrossedTest, OneSourceGivesTheClassicalTests) {
  // Seeds alone: Student's t with nu = 2, whose two-sided p of t is 1 - t / sqrt(2 + t^2).
  Estimate seeds;
  seeds.mean = 3;
  seeds.seed_variance = 1;
  seeds.seed_degrees = 2;
  EXPECT_NEAR(TwoSidedP(seeds, 0), 1 - 3 / std::sqrt(11.0), 1e-12);
  // Examples alone, many of them: the normal distribution.
  Estimate examples;
  examples.mean = 3;
  examples.example_variance = 1;
  EXPECT_NEAR(TwoSidedP(examples, 0), std::erfc(3 / std::sqrt(2.0)), 1e-14);
  EXPECT_NEAR(HalfWidth(examples, 0.95), 1.959963984540054, 1e-12);
  examples.mean = 100;
  EXPECT_EQ(TwoSidedP(examples, 0), 1e-300);
}

TEST(CrossedTest, AConstantDifferenceIsJudgedByTheNumberOfExamples) {
  const Estimate none = EstimateOf(Moments({ExampleValues(8, 0.0), ExampleValues(8, 0.0)}));
  EXPECT_EQ(TwoSidedP(none, 0), 1);
  EXPECT_NEAR(HalfWidth(none, 0.95), 1 - std::pow(0.025, 1 / 8.0), 1e-12);
  const Estimate always = EstimateOf(Moments({ExampleValues(8, 1.0), ExampleValues(8, 1.0)}));
  EXPECT_NEAR(TwoSidedP(always, 0), std::pow(2.0, -7), 1e-15);
}

TEST(CrossedTest, SeedsOfEqualTotalsThatErrElsewhereHaveAWidth) {
  const Estimate estimate = EstimateOf(Moments({{1, 1, 0, 0}, {0, 0, 1, 1}}));
  EXPECT_EQ(estimate.seed_variance, 0);
  EXPECT_GT(HalfWidth(estimate, 0.95), 0.1);
}

// By luck, again; what both have right must not make it as if nothing scattered.
TEST(CrossedTest, SeedsOfEqualTotalsAreNoSurerThanIndependentExamples) {
  constexpr int kExamples = 171, kRight = 13;
  for (int shared = 0; shared < kRight; ++shared) {
    std::vector<ExampleValues> runs(2, ExampleValues(kExamples, 0));
    for (int i = 0; i < kRight; ++i) {
      runs[0][i] = 1;
      runs[1][kRight - shared + i] = 1;
    }
    const double p = double(kRight) / kExamples;
    const double independent = std::sqrt(p * (1 - p) / (2 * kExamples));
    EXPECT_GT(HalfWidth(EstimateOf(Moments(runs)), 0.95), 1.55 * independent) << shared;
    const CrossedSums sums = SumsOf(runs);
    const ExampleValues other(kExamples, 0.5);
    const CrossedSums alike = SumsOf(std::vector<ExampleValues>{other, other});
    EXPECT_GT(HalfWidth(UnpairedDifference(sums, alike), 0.95), 1.55 * independent) << shared;
  }
}

TEST(CrossedTest, BlocksOfOneChangeNothing) {
  const CrossedMoments plain = Moments(RunsOf('A')), single = MomentsOf(SumsOf(RunsOf('A'), 1));
  EXPECT_EQ(single.blocks, 2000);
  EXPECT_EQ(single.mean, plain.mean);
  EXPECT_EQ(single.msa, plain.msa);
  EXPECT_EQ(single.msb, plain.msb);
  EXPECT_EQ(single.mse, plain.mse);
}

// In data set P five neighbours have equal outcomes, so a block of five is one example: the squares
// are those of 400, counted five times. What seeds scatter does not depend on blocks.
TEST(CrossedTest, EqualNeighboursCountOnce) {
  const CrossedMoments plain = Moments(RunsOf('A')), fives = MomentsOf(SumsOf(RunsOf('A'), 5));
  EXPECT_EQ(fives.examples, 2000);
  EXPECT_EQ(fives.blocks, 400);
  EXPECT_NEAR(fives.mean, plain.mean, 1e-12);
  EXPECT_NEAR(fives.msa, plain.msa, 1e-9);
  EXPECT_NEAR(fives.msb, plain.msb * 1999 / 399, 1e-9);
  EXPECT_NEAR(fives.mse, plain.mse * 1999 / 399, 1e-9);
  const Estimate estimate = EstimateOf(fives);
  EXPECT_NEAR(estimate.seed_variance, plain.seed_variance(), 1e-15);
  EXPECT_NEAR(estimate.example_variance, plain.example_variance() * 1999 / 399, 1e-12);
  EXPECT_EQ(estimate.example_degrees, 399);
  // One run of 400 examples has the exact interval; of five equal ones each it is nearly that.
  const CrossedMoments one = MomentsOf(SumsOf({&RunsOf('A')[0], 1}, 5));
  const Interval cell = ProportionInterval(one, 0.95), exact = ClopperPearson(152, 400, 0.95);
  EXPECT_NEAR(cell.low, exact.low, 2e-4);
  EXPECT_NEAR(cell.high, exact.high, 2e-4);
}

TEST(CrossedTest, ValuesOfBlocksByHand) {
  // The mean is 3; sums less as many means are -3, 0 and 3, and 3 of 5 of that is added to it.
  const ExampleValues values = BlockValues({1, 2, 0, 6, 6}, 2);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_NEAR(values[0], 3 - 3 * 0.6, 1e-15);
  EXPECT_NEAR(values[1], 3, 1e-15);
  EXPECT_NEAR(values[2], 3 + 3 * 0.6, 1e-15);
  EXPECT_NEAR(Mean(values), 3, 1e-15);
  // Equal blocks have their means.
  const ExampleValues pairs = BlockValues({1, 2, 0, 6}, 2);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_NEAR(pairs[0], 1.5, 1e-15);
  EXPECT_NEAR(pairs[1], 3, 1e-15);
  // B / (B - 1) sum_g (T_g - t_g m)^2 / n^2, the variance of a mean of groups: 3 / 2 x 18 / 25.
  const Estimate estimate =
      EstimateOf(MomentsOf(SumsOf(std::vector<ExampleValues>{{1, 2, 0, 6, 6}}, 2)));
  EXPECT_NEAR(estimate.example_variance, 1.5 * 18 / 25, 1e-14);
  EXPECT_EQ(estimate.example_degrees, 2);
}

TEST(CrossedTest, TooFewForTwoBlocksAreExamples) {
  EXPECT_EQ(CountBlocks(2000, 1), 2000);
  EXPECT_EQ(CountBlocks(2000, 80), 25);
  EXPECT_EQ(CountBlocks(2001, 80), 26);
  EXPECT_EQ(CountBlocks(81, 80), 2);
  EXPECT_EQ(CountBlocks(80, 80), 80);
  EXPECT_EQ(CountBlocks(1, 80), 1);
  const std::vector<ExampleValues> runs = {{1, 0, 1}, {0, 0, 1}};
  EXPECT_EQ(MomentsOf(SumsOf(runs, 80)).msb, Moments(runs).msb);
  EXPECT_EQ(MomentsOf(SumsOf(runs, 80)).blocks, 3);
}

// 200 right answers in blocks of 20 are ten.
TEST(CrossedTest, AllRightIsJudgedByTheNumberOfBlocks) {
  const std::vector<ExampleValues> right(3, ExampleValues(200, 1.0));
  const CrossedMoments moments = MomentsOf(SumsOf(right, 20));
  EXPECT_NEAR(ProportionInterval(moments, 0.95).low, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(EstimateOf(moments).constant_examples, 10);
  const Estimate counts = EstimateOfCounts(std::vector<int64_t>{200, 200}, 200, 20);
  EXPECT_EQ(counts.constant_examples, 10);
}

// An example is like the one before it: of such values the mean scatters three times as much as of
// independent ones, and 50 blocks show nearly all of that.
TEST(CrossedTest, BlocksCoverWhereNeighboursDependOnEachOther) {
  constexpr int kRepetitions = 400, kExamples = 4000, kBlock = 80;
  constexpr double kLike = 0.8;
  for (const int seeds : {1, 3}) {
    Simulator simulator(600 + seeds);
    int blocks = 0, single = 0;
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      std::vector<double> x = simulator.Normals(kExamples);
      for (int i = 1; i < kExamples; ++i)
        x[i] = kLike * x[i - 1] + std::sqrt(1 - kLike * kLike) * x[i];
      std::vector<ExampleValues> runs(seeds, x);
      for (ExampleValues& run : runs) {
        const double shift = seeds > 1 ? 0.01 * simulator.Normal() : 0;
        for (double& value : run) value += shift + 0.3 * simulator.Normal();
      }
      const auto covers = [&](int64_t block_examples) {
        const Estimate estimate = EstimateOf(MomentsOf(SumsOf(runs, block_examples)));
        return std::abs(estimate.mean) <= HalfWidth(estimate, 0.95);
      };
      blocks += covers(kBlock) ? 1 : 0;
      single += covers(1) ? 1 : 0;
    }
    EXPECT_GE(blocks, 0.89 * kRepetitions) << seeds;
    EXPECT_LE(blocks, 0.985 * kRepetitions) << seeds;
    EXPECT_LE(single, 0.7 * kRepetitions) << seeds;
  }
}

TEST(CrossedTest, SharesOfFewBlocksHaveTheirWideQuantile) {
  ExampleValues run(480);
  for (int i = 0; i < 480; ++i) run[i] = i % 8 <= i / 80 ? 1 : 0;
  const CrossedMoments six = MomentsOf(SumsOf(std::vector<ExampleValues>{run}, 80));
  const Interval cell = ProportionInterval(six, 0.95);
  EXPECT_GT(cell.high - cell.low, 1.9 * HalfWidth(EstimateOf(six), 0.95));
}

// Every second one is right, so blocks are alike.
TEST(CrossedTest, BlocksThatScatterLessThanExamplesDoNotCount) {
  std::vector<ExampleValues> turns(1, ExampleValues(2000));
  for (size_t i = 2; i < turns[0].size(); i += 2) turns[0][i] = 1;
  EXPECT_EQ(MomentsOfRuns(turns, 80).blocks, 2000);
  EXPECT_EQ(MomentsOfRuns(turns, 80).msb, MomentsOfRuns(turns, 1).msb);
  const std::vector<ExampleValues> row = RunsOf('A');  // five neighbours are alike
  EXPECT_EQ(MomentsOfRuns(row, 5).blocks, 400);
  EXPECT_GT(MomentsOfRuns(row, 5).example_variance(), MomentsOfRuns(row, 1).example_variance());
}

TEST(CrossedTest, CountsAloneNeverGiveANarrowerInterval) {
  for (const char row : {'A', 'B', 'C', 'D'}) {
    const CrossedSums sums = SumsOf(RunsOf(row));
    const std::vector<int64_t> correct(sums.seed_totals.begin(), sums.seed_totals.end());
    const Estimate counts = EstimateOfCounts(correct, 2000);
    const Estimate known = EstimateOf(MomentsOf(sums));
    EXPECT_NEAR(counts.mean, known.mean, 1e-15);
    EXPECT_NEAR(counts.seed_variance, known.seed_variance, 1e-15);
    EXPECT_GE(HalfWidth(counts, 0.95), HalfWidth(known, 0.95)) << row;
    EXPECT_LE(HalfWidth(counts, 0.95), 1.3 * HalfWidth(known, 0.95)) << row;
  }
  // One run's counts say all.
  const Interval one =
      ProportionInterval(EstimateOfCounts(std::vector<int64_t>{760}, 2000), 2000, 0.95);
  EXPECT_NEAR(one.low, 0.35866642, 5e-9);
}

TEST(CrossedTest, TheWidestOfARangeOfVariancesIsTaken) {
  // With few seeds a small variance of examples narrows: the seeds' quantile weighs less.
  Estimate estimate;
  estimate.seed_variance = 1;
  estimate.seed_degrees = 1;
  estimate.example_variance = 0.5;
  const double at_most = HalfWidth(estimate, 0.95);
  estimate.least_example_variance = 0;
  EXPECT_GT(HalfWidth(estimate, 0.95), at_most);
  EXPECT_NEAR(HalfWidth(estimate, 0.95), std::tan(0.475 * std::acos(-1.0)), 1e-9);
}

}  // namespace
}  // namespace lra
