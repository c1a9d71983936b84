#include "eval/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "eval/comparison.h"
#include "eval/crossed_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;

TEST(EquivalenceTest, Golden) {
  const Estimate d = PairedDifference(RunsOf('A'), RunsOf('B'));
  const Equivalence result = TestEquivalence(d, 0.04);
  EXPECT_NEAR(result.interval.low, 0.0070351401, 5e-11);
  EXPECT_NEAR(result.interval.high, 0.029631527, 5e-10);
  EXPECT_NEAR(result.p, 0.010413167, 5e-10);
  EXPECT_TRUE(result.is_equivalent);
}

TEST(EquivalenceTest, TheVerdictIsPsAndTheIntervals) {
  const Estimate d = PairedDifference(RunsOf('A'), RunsOf('B'));
  for (const double margin : {0.01, 0.02, 0.029, 0.0297, 0.031, 0.05}) {
    const Equivalence result = TestEquivalence(d, margin);
    EXPECT_EQ(result.is_equivalent, result.p < 0.05) << margin;
    EXPECT_EQ(result.is_equivalent, margin > 0.029631527) << margin;
  }
}

Design Planned(double sigma_points, int64_t examples, double seeds) {
  return {AssumedComponents(sigma_points / 100, 0.1), examples, seeds, 1};
}

TEST(PowerTest, Golden) {
  const Design design = Planned(1, 2000, 5);
  EXPECT_NEAR(Power(design, 0.02), 0.67999231, 5e-9);
  EXPECT_NEAR(SmallestDifference(design, 0.8).value(), 0.02303419, 5e-9);
}

// Points with 80 % power, for sigma_s of 0.5, 1 and 2 points, to a tenth.
TEST(PowerTest, GoldenTableOfSmallestDifferences) {
  struct Row {
    int64_t examples;
    double seeds, points[3];
  };
  const double without_end = std::numeric_limits<double>::infinity();
  const std::vector<Row> rows = {
      {2000, 3, {2.5, 3.7, 6.7}},           {2000, 5, {1.8, 2.3, 3.7}},
      {2000, 10, {1.6, 1.8, 2.5}},          {2000, 30, {1.4, 1.5, 1.8}},
      {2000, without_end, {1.4, 1.4, 1.4}}, {10000, 3, {1.8, 3.4, 6.6}},
      {10000, 5, {1.1, 1.8, 3.4}},          {10000, 10, {0.8, 1.2, 2.1}},
      {10000, 30, {0.7, 0.8, 1.2}},         {10000, without_end, {0.6, 0.6, 0.6}},
      {20000, 3, {1.7, 3.3, 6.5}},          {20000, 5, {1.0, 1.8, 3.4}},
      {20000, 10, {0.7, 1.1, 2.0}},         {20000, 30, {0.5, 0.7, 1.1}},
      {20000, without_end, {0.4, 0.4, 0.4}}};
  const double sigmas[] = {0.5, 1, 2};
  for (const Row& row : rows) {
    for (int i = 0; i < 3; ++i) {
      const auto d = SmallestDifference(Planned(sigmas[i], row.examples, row.seeds), 0.8);
      EXPECT_NEAR(100 * d.value(), row.points[i], 0.0501) << row.examples << " " << row.seeds;
    }
  }
}

TEST(PowerTest, WithoutEndOfSeedsExamplesSetTheFloor) {
  const auto d = SmallestDifference(Planned(1, 2000, std::numeric_limits<double>::infinity()), 0.8);
  // The sum of the normal quantiles at 0.975 and 0.8 is 2.80.
  EXPECT_NEAR(d.value(), (1.9599640 + 0.8416212) * std::sqrt(0.05 / 2000), 1e-6);
}

TEST(PowerTest, SeedsAndExamplesNeededAreTheLeast) {
  const Design design = Planned(1, 10000, 5);
  const int64_t seeds = SeedsNeeded(design, 0.01, 0.8).value();
  Design with = design;
  with.seeds = static_cast<double>(seeds);
  EXPECT_GE(Power(with, 0.01), 0.8);
  with.seeds = static_cast<double>(seeds - 1);
  EXPECT_LT(Power(with, 0.01), 0.8);
  const int64_t examples = ExamplesNeeded(design, 0.02, 0.8).value();
  with = design;
  with.examples = examples;
  EXPECT_GE(Power(with, 0.02), 0.8);
  with.examples = examples - 1;
  EXPECT_LT(Power(with, 0.02), 0.8);
  // Below the floor no number of seeds helps.
  EXPECT_FALSE(SeedsNeeded(Planned(1, 2000, 5), 0.01, 0.8).has_value());
}

TEST(PowerTest, PowerAtNoDifferenceIsTheLevel) {
  EXPECT_NEAR(Power(Planned(1, 2000, 30), 0), 0.05, 0.005);
}

TEST(PowerTest, ComponentsOfARecordGiveItsOwnVariances) {
  std::vector<ExampleValues> x = RunsOf('A');
  const std::vector<ExampleValues> b = RunsOf('B');
  for (size_t s = 0; s < 3; ++s) {
    for (size_t i = 0; i < 2000; ++i) x[s][i] -= b[s][i];
  }
  const CrossedMoments moments = MomentsOf(SumsOf(x));
  const Design design{ComponentsOf(moments), 2000, 3, 1, 1};
  EXPECT_NEAR(Power(design, 0.02), PowerOf(EstimateOf(moments), 0.02), 1e-12);
}

TEST(PowerTest, AnUnpairedRecordGivesItsOwnVariances) {
  const CrossedSums a = SumsOf(RunsOf('A')), b = SumsOf(RunsOf('B'));
  const Estimate known = UnpairedDifference(a, b);
  const Design design = UnpairedDesign(a, b, 2000, 3);
  EXPECT_NEAR(2 * design.degrees_per_seed, known.seed_degrees, 1e-9);
  EXPECT_NEAR(Power(design, 0.02), PowerOf(known, 0.02), 1e-12);
}

// Data set P in an order in which neighbours are unlike.
std::vector<ExampleValues> Spread(char row) {
  std::vector<ExampleValues> runs = RunsOf(row);
  for (ExampleValues& run : runs) {
    const ExampleValues before = run;
    for (size_t i = 0; i < run.size(); ++i) run[i] = before[i * 787 % before.size()];
  }
  return runs;
}

// Planned for as many examples, a design has the variances of the blocks on record; for more it has
// more blocks.
TEST(PowerTest, ARecordInBlocksGivesItsOwnVariancesToo) {
  std::vector<ExampleValues> x = Spread('A');
  const std::vector<ExampleValues> other = Spread('B');
  const CrossedSums a = SumsOf(x, 5), b = SumsOf(other, 5);
  const Estimate known = UnpairedDifference(a, b);
  Design design = UnpairedDesign(a, b, 2000, 3);
  EXPECT_NEAR(Power(design, 0.02), PowerOf(known, 0.02), 1e-12);
  design.examples = 4000;
  EXPECT_GT(Power(design, 0.02), PowerOf(known, 0.02));
  for (size_t s = 0; s < 3; ++s) {
    for (size_t i = 0; i < 2000; ++i) x[s][i] -= other[s][i];
  }
  const CrossedMoments moments = MomentsOf(SumsOf(x, 5));
  EXPECT_EQ(moments.blocks, 400);
  const Design paired{ComponentsOf(moments), 2000, 3, 1, 5};
  EXPECT_NEAR(Power(paired, 0.02), PowerOf(EstimateOf(moments), 0.02), 1e-12);
}

// One source with ten blocks is Student's test, whose power at a difference of sqrt(10) standard
// errors is the noncentral t distribution's, 80.31 %; the normal quantile would make it 88.5 %.
TEST(PowerTest, FewBlocksAreStudentsTest) {
  Estimate ten;
  ten.example_variance = 0.01;
  ten.example_degrees = 9;
  EXPECT_NEAR(PowerOf(ten, 0.1 * std::sqrt(10.0)), 0.8030968566, 1e-5);
  EXPECT_NEAR(SmallestDifferenceOf(ten, 0.8).value(), 0.31496, 2e-5);
  const Design planned{{0, 8, 0}, 800, 5, 1, 80};
  EXPECT_NEAR(Power(planned, 0.1 * std::sqrt(10.0)), 0.8030968566, 1e-5);
}

// The expected values are means over a grid of 4,000 x 4,000 quantiles of both variances.
TEST(PowerTest, FewSeedsAndFewBlocksVaryTogether) {
  const auto power = [](double seeds, double seed_degrees, double examples, double example_degrees,
                        double difference) {
    Estimate estimate;
    estimate.seed_variance = seeds;
    estimate.seed_degrees = seed_degrees;
    estimate.example_variance = examples;
    estimate.example_degrees = example_degrees;
    return PowerOf(estimate, difference);
  };
  EXPECT_NEAR(power(0.5, 2, 0.5, 4, 3.5), 0.5607418, 5e-4);
  EXPECT_NEAR(power(0.5, 4, 0.5, 9, 3), 0.6843968, 1e-4);
  EXPECT_NEAR(power(0.8, 2, 0.2, 19, 4), 0.6334260, 1e-4);
}

// Rows that answer alike have no variance to plan with.
TEST(PowerTest, WhereNothingVariedNoDifferenceIsNamed) {
  const std::vector<ExampleValues> x(3, ExampleValues(50, 0.0));
  EXPECT_FALSE(SmallestDifferenceOf(EstimateOf(MomentsOf(SumsOf(x))), 0.8).has_value());
  EXPECT_FALSE(SmallestDifferenceOf(Estimate(), 0.8).has_value());
}

// Nor has rounding, which is all that equal runs in unequal blocks leave.
TEST(PowerTest, EqualRunsInBlocksHaveNoVarianceToPlanWith) {
  ExampleValues values(25000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i * 7919 % 1000 < 700 ? 1 : 0;
  const CrossedSums row = SumsOf(std::vector<ExampleValues>(3, values), 80);
  const DifferenceComponents c = UnpairedDesign(row, row, 25000, 3).components;
  EXPECT_EQ(c.seeds + c.examples + c.rest, 0);
}

}  // namespace
}  // namespace lra
