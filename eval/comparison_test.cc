#include "eval/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "eval/crossed_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;

TEST(ComparisonTest, GoldenPairedDifference) {
  const Estimate d = PairedDifference(RunsOf('A'), RunsOf('B'));
  EXPECT_NEAR(d.mean, 0.018333333, 5e-10);
  EXPECT_NEAR(HalfWidth(d, 0.95), 0.015217227, 5e-10);
  EXPECT_NEAR(TwoSidedP(d, 0), 0.031606279, 5e-10);
}

TEST(ComparisonTest, GoldenUnpairedDifference) {
  const Estimate d = UnpairedDifference(SumsOf(RunsOf('A')), SumsOf(RunsOf('B')));
  EXPECT_NEAR(d.mean, 0.018333333, 5e-10);
  EXPECT_NEAR(d.seed_degrees, 2.8764045, 5e-8);
  EXPECT_NEAR(HalfWidth(d, 0.95), 0.022473564, 5e-10);
  EXPECT_NEAR(TwoSidedP(d, 0), 0.082462385, 5e-10);
}

TEST(ComparisonTest, GoldenMcNemarOfTwoRuns) {
  const Discordance d = DiscordanceOf(RunsOf('A')[0], RunsOf('B')[0]);
  EXPECT_EQ(d.only_a, 105);
  EXPECT_EQ(d.only_b, 55);
  EXPECT_NEAR(McNemarP(d), 9.4987e-05, 5e-10);
  const Interval interval = BonettPriceInterval(d, 0.95);
  EXPECT_NEAR((interval.low + interval.high) / 2, 0.024975025, 5e-10);
  EXPECT_NEAR((interval.high - interval.low) / 2, 0.012412555, 5e-10);
}

// Two runs that agree on all of 20 examples: +-1.96 sqrt(2) / 22.
TEST(ComparisonTest, RunsThatAgreeHaveAnInterval) {
  const Estimate estimate = BonettPriceEstimate({0, 0, 20});
  EXPECT_EQ(estimate.mean, 0);
  EXPECT_NEAR(estimate.example_variance, 2.0 / (22 * 22), 1e-15);
  EXPECT_NEAR(BonettPriceInterval({0, 0, 20}, 0.95).high, 1.9599640 * std::sqrt(2.0) / 22, 1e-8);
}

TEST(ComparisonTest, McNemarByHand) {
  // Three examples that only A has right, one that only B has: (1 + 4) / 16 one-sided.
  EXPECT_NEAR(McNemarUpperP({3, 1, 100}), 5.0 / 16, 1e-14);
  EXPECT_NEAR(McNemarUpperP({1, 3, 100}), 15.0 / 16, 1e-14);
  EXPECT_NEAR(McNemarP({3, 1, 100}), 10.0 / 16, 1e-14);
  EXPECT_EQ(McNemarP({2, 2, 100}), 1);
  EXPECT_EQ(McNemarP({0, 0, 100}), 1);
}

TEST(ComparisonTest, CountsAloneGiveTheLargestP) {
  const ExampleValues a = RunsOf('A')[0], b = RunsOf('B')[0];
  const Discordance known = DiscordanceOf(a, b), widest = WidestDiscordance(760, 710, 2000);
  EXPECT_EQ(known.only_a - known.only_b, widest.only_a - widest.only_b);
  EXPECT_EQ(widest.only_a + widest.only_b, 760 + 710);
  EXPECT_GT(McNemarP(widest), McNemarP(known));
  // More right than wrong: the wrong answers bound the disagreement.
  const Discordance high = WidestDiscordance(90, 80, 100);
  EXPECT_EQ(high.only_a, 20);
  EXPECT_EQ(high.only_b, 10);
}

TEST(ComparisonTest, ASwapTurnsTheSign) {
  const CrossedSums a = SumsOf(RunsOf('A')), b = SumsOf(RunsOf('B'));
  const Estimate forth = UnpairedDifference(a, b), back = UnpairedDifference(b, a);
  EXPECT_DOUBLE_EQ(forth.mean, -back.mean);
  EXPECT_DOUBLE_EQ(HalfWidth(forth, 0.9), HalfWidth(back, 0.9));
}

TEST(ComparisonTest, OneRunAgainstSeveralHasNoSeedVarianceOfItsOwn) {
  const CrossedSums a = SumsOf(RunsOf('A')), z = SumsOf(RunsOf('Z'));
  const Estimate d = UnpairedDifference(a, z);
  EXPECT_DOUBLE_EQ(d.seed_variance, MomentsOf(a).seed_variance());
  EXPECT_DOUBLE_EQ(d.seed_degrees, 2);
  // A fixed second row takes nothing from the seeds, so pairing is the same.
  const std::vector<ExampleValues> same(3, RunsOf('Z')[0]);
  const Estimate paired = PairedDifference(RunsOf('A'), same);
  EXPECT_NEAR(HalfWidth(d, 0.95), HalfWidth(paired, 0.95), 1e-12);
}

TEST(ComparisonTest, EqualRowsDifferNowhere) {
  const CrossedSums a = SumsOf(RunsOf('A')), one = SumsOf({&RunsOf('A')[0], 1});
  EXPECT_EQ(DifferingExamples(a, a), 0);
  EXPECT_EQ(TwoSidedP(UnpairedDifference(one, one), 0), 1);
  EXPECT_EQ(DifferingExamples(SumsOf({&RunsOf('A')[0], 1}), SumsOf({&RunsOf('B')[0], 1})), 160);
}

// Five neighbours of data set P are equal (crossed_test.cc): 400 blocks of them are 400 examples.
TEST(ComparisonTest, DifferencesOfBlocksHaveTheVarianceOfBlocks) {
  const CrossedSums a = SumsOf(RunsOf('A')), b = SumsOf(RunsOf('B'));
  const CrossedSums fives_a = SumsOf(RunsOf('A'), 5), fives_b = SumsOf(RunsOf('B'), 5);
  const Estimate plain = UnpairedDifference(a, b), fives = UnpairedDifference(fives_a, fives_b);
  EXPECT_NEAR(fives.mean, plain.mean, 1e-12);
  EXPECT_NEAR(fives.seed_variance, plain.seed_variance, 1e-15);
  EXPECT_NEAR(fives.seed_degrees, plain.seed_degrees, 1e-6);
  EXPECT_NEAR(fives.example_variance, plain.example_variance * 1999 / 399, 1e-12);
  EXPECT_EQ(fives.example_degrees, 399);
  const Estimate pairs = PairedDifference(RunsOf('A'), RunsOf('B'));
  const Estimate pairs_of_fives = PairedDifference(RunsOf('A'), RunsOf('B'), 5);
  EXPECT_NEAR(pairs_of_fives.example_variance, pairs.example_variance * 1999 / 399, 1e-12);
  EXPECT_EQ(pairs_of_fives.example_degrees, 399);
}

// The same difference in each of 20 examples is that of four blocks.
TEST(ComparisonTest, AConstantDifferenceIsJudgedByTheNumberOfBlocks) {
  const std::vector<ExampleValues> one = {ExampleValues(20, 1.0)}, none = {ExampleValues(20, 0.0)};
  const Estimate d = UnpairedDifference(SumsOf(one, 5), SumsOf(none, 5));
  EXPECT_EQ(d.constant_examples, 4);
  EXPECT_NEAR(TwoSidedP(d, 0), std::pow(2.0, -3), 1e-15);
}

// Values of 313 blocks of 80, the last of 40, are not whole: rounding is no scatter of seeds.
TEST(ComparisonTest, EqualRunsInBlocksDifferByAConstant) {
  ExampleValues values(25000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i * 7919 % 1000 < 700 ? 1 : 0;
  const CrossedSums row = SumsOf(std::vector<ExampleValues>(3, values), 80);
  // Totals of another number of seeds are rounded otherwise.
  for (const int seeds : {1, 2, 3, 5}) {
    const CrossedSums copies = SumsOf(std::vector<ExampleValues>(seeds, values), 80);
    for (const Estimate& same :
         {UnpairedDifference(row, copies), UnpairedDifference(copies, row)}) {
      EXPECT_EQ(same.constant_examples, 313) << seeds;
      EXPECT_EQ(same.blocks, 313);
      EXPECT_EQ(TwoSidedP(same, 0), 1) << seeds << " seeds, mean " << same.mean;
    }
  }
  std::vector<ExampleValues> other(3, values);
  other[0][0] = 1 - other[0][0];
  const Estimate one_answer = UnpairedDifference(SumsOf(other, 80), row);
  EXPECT_FALSE(one_answer.constant_examples.has_value());
  EXPECT_GT(one_answer.seed_variance, 0);
}

// One set of weights scored by two builds, in bits/token.
TEST(ComparisonTest, RoundingToFloatIsNoDifference) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  ExampleValues exact(43008), rounded, noisy;
  for (double& value : exact) value = 2.4 + 0.4 * normal(random);
  for (const double value : exact) {
    rounded.push_back(static_cast<float>(value));
    noisy.push_back(value * (1 + 2e-7 * normal(random)));
  }
  for (const ExampleValues& other : {rounded, noisy}) {
    const Estimate difference = UnpairedDifference(SumsOf({&exact, 1}), SumsOf({&other, 1}));
    EXPECT_GT(TwoSidedP(difference, 0), 0.01) << difference.mean;
  }
  // What is larger than rounding everywhere is one.
  ExampleValues shifted = exact;
  for (double& value : shifted) value += 1e-5;
  EXPECT_LT(TwoSidedP(UnpairedDifference(SumsOf({&shifted, 1}), SumsOf({&exact, 1})), 0), 1e-10);
}

TEST(ComparisonTest, CountsThatAreAllRightStillHaveAWidth) {
  const Estimate all = EstimateOfCounts({{2000, 2000}}, 2000);
  EXPECT_GT(HalfWidth(DifferenceOfEstimates(all, all), 0.95), 0.001);
}

TEST(ComparisonTest, CountsAloneNeverTellApartWhatExamplesDoNot) {
  const auto counts = [](char row) {
    const CrossedSums sums = SumsOf(RunsOf(row));
    return EstimateOfCounts(std::vector<int64_t>(sums.seed_totals.begin(), sums.seed_totals.end()),
                            2000);
  };
  const Estimate bound = DifferenceOfEstimates(counts('A'), counts('B'));
  const Estimate known = UnpairedDifference(SumsOf(RunsOf('A')), SumsOf(RunsOf('B')));
  EXPECT_NEAR(bound.mean, known.mean, 1e-12);
  EXPECT_NEAR(bound.seed_degrees, known.seed_degrees, 1e-9);
  EXPECT_GT(TwoSidedP(bound, 0), TwoSidedP(known, 0));
}

TEST(ComparisonTest, FisherByHand) {
  // Four of four against none of four: 2 / C(8, 4).
  EXPECT_NEAR(FisherExactP(4, 4, 0, 4), 2.0 / 70, 1e-12);
  // Fisher's tea: 3 of 4 against 1 of 4 is 34 of 70 tables.
  EXPECT_NEAR(FisherExactP(3, 4, 1, 4), 34.0 / 70, 1e-12);
  EXPECT_EQ(FisherExactP(5, 5, 5, 5), 1);
  EXPECT_EQ(FisherExactP(0, 3, 0, 5), 1);
}

}  // namespace
}  // namespace lra
