#include "eval/all_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace lra {
namespace {

Estimate MakeEstimate(double mean, double seed_error, double degrees, double example_error,
                      double example_degrees = kManyDegrees) {
  Estimate estimate;
  estimate.mean = mean;
  estimate.seed_variance = seed_error * seed_error;
  estimate.seed_degrees = degrees;
  estimate.example_variance = example_error * example_error;
  estimate.example_degrees = example_degrees;
  return estimate;
}

TEST(AllRunsTest, Golden) {
  const Interval rate = ClopperPearson(4, 5, 0.95);
  EXPECT_NEAR(rate.low, 0.28358206, 5e-9);
  EXPECT_NEAR(rate.high, 0.99494924, 5e-9);
  const TaskPart part{MakeEstimate(0.72, 0.004, 3, 0.0045, 3999), {{{4, 5}, 0.5}}};
  const MeanOfAll all = AllRunsMean(part, 0.95);
  EXPECT_NEAR(all.mean, 0.676, 1e-12);
  EXPECT_NEAR(all.interval.low, 0.56175176, 5e-9);
  EXPECT_NEAR(all.interval.high, 0.72054702, 5e-9);
}

TEST(AllRunsTest, WithoutFailuresItIsTheTrainedMean) {
  const Estimate trained = MakeEstimate(0.72, 0.004, 3, 0.0045);
  const MeanOfAll all = AllRunsMean({trained, {}}, 0.95);
  EXPECT_EQ(all.mean, 0.72);
  EXPECT_NEAR(all.interval.high - 0.72, HalfWidth(trained, 0.95), 1e-15);
}

// 17 of 20 in one run: 0.85 + 1.96 x 0.08 is more than all.
TEST(AllRunsTest, ProportionsStayWithinTheirBounds) {
  TaskPart part{MakeEstimate(0.85, 0, kManyDegrees, 0.08), {{{1, 1}, 0.1}}};
  const Interval open = AllRunsMean(part, 0.95).interval;
  EXPECT_GT(open.high, 1);
  part.is_proportion = true;
  const Interval cut = AllRunsMean(part, 0.95).interval;
  EXPECT_EQ(cut.high, 1);
  EXPECT_EQ(cut.low, open.low);
  EXPECT_EQ(AverageOverTasks({&part, 1}, 0.95).interval.high, 1);
}

TEST(AllRunsTest, WhereLowerIsBetterTheArmsChangeSides) {
  // The error rate says of every run what accuracy says.
  const MeanOfAll right = AllRunsMean({MakeEstimate(0.72, 0.004, 3, 0.0045), {{{4, 5}, 0.5}}}, 0.9);
  const MeanOfAll wrong = AllRunsMean({MakeEstimate(0.28, 0.004, 3, 0.0045), {{{4, 5}, 0.5}}}, 0.9);
  EXPECT_NEAR(wrong.mean, 1 - right.mean, 1e-12);
  EXPECT_NEAR(wrong.interval.low, 1 - right.interval.high, 1e-12);
  EXPECT_NEAR(wrong.interval.high, 1 - right.interval.low, 1e-12);
}

TEST(AllRunsTest, GoldenAverage) {
  const std::vector<TaskPart> parts = {{MakeEstimate(.373, .0038, 2, .0103), {}},
                                       {MakeEstimate(.612, .0020, 2, .0030), {}},
                                       {MakeEstimate(.214, .0018, 4, .0040), {}}};
  const MeanOfAll average = AverageOverTasks(parts, 0.95);
  EXPECT_NEAR(average.mean, 0.39966667, 5e-9);
  EXPECT_NEAR((average.interval.high - average.interval.low) / 2, 0.008538244, 5e-10);
  EXPECT_NEAR(average.degrees, 4.0913779, 5e-8);
}

// Variances of 1 and 1/4 in the average, of blocks with 4 and 9 degrees of freedom: (5/4)^2 over
// 1/4 + 1/144 is 225/37, whose quantile at 97.5 % is 2.439025064.
TEST(AllRunsTest, FewBlocksOfExamplesHaveTheirWideQuantileInAnAverage) {
  const std::vector<Estimate> parts = {MakeEstimate(0.5, 0, kManyDegrees, 2, 4),
                                       MakeEstimate(0.5, 0, kManyDegrees, 1, 9)};
  const Estimate average = AverageEstimate(parts);
  EXPECT_NEAR(average.example_degrees, 225.0 / 37, 1e-12);
  EXPECT_NEAR(HalfWidth(average, 0.95), 2.726912921, 5e-9);
  const Estimate many = AverageEstimate(std::vector<Estimate>(2, MakeEstimate(0.5, 0, 2, 1)));
  EXPECT_TRUE(std::isinf(many.example_degrees));
}

TEST(AllRunsTest, AnAverageOfOneTaskIsTheTask) {
  const TaskPart part{MakeEstimate(0.72, 0.004, 3, 0.0045, 6), {{{4, 5}, 0.5}}};
  const MeanOfAll all = AllRunsMean(part, 0.95), average = AverageOverTasks({&part, 1}, 0.95);
  EXPECT_NEAR(average.mean, all.mean, 1e-15);
  EXPECT_NEAR(average.interval.low, all.interval.low, 1e-12);
  EXPECT_NEAR(average.interval.high, all.interval.high, 1e-12);
}

// All of 2,000 examples and of 300 right: 1 - 0.025^(1/n) of each, added in squares.
TEST(AllRunsTest, ConstantScoresHaveAWidthInAnAverage) {
  std::vector<TaskPart> parts(2);
  const std::vector<int64_t> examples = {2000, 300};
  std::vector<double> widths;
  for (size_t t = 0; t < 2; ++t) {
    parts[t].is_proportion = true;
    parts[t].trained.mean = 1;
    parts[t].trained.constant_examples = examples[t];
    widths.push_back(1 - std::pow(0.025, 1.0 / static_cast<double>(examples[t])));
  }
  const Interval interval = AverageOverTasks(parts, 0.95).interval;
  EXPECT_NEAR(interval.low, 1 - std::hypot(widths[0], widths[1]) / 2, 1e-12);
  EXPECT_EQ(interval.high, 1);
  parts[0].failures = {{4, 5}, 0.1};
  EXPECT_NEAR(AverageOverTasks({parts.data(), 1}, 0.95).interval.low,
              AllRunsMean(parts[0], 0.95).interval.low, 1e-12);
}

TEST(AllRunsTest, ABoundOnOneTaskBoundsTheAverage) {
  Estimate bound = MakeEstimate(0.5, 0.01, 1, 0.002);
  bound.least_example_variance = 0;
  const Estimate known = MakeEstimate(0.5, 0, kManyDegrees, 0.001);
  const std::vector<Estimate> parts = {bound, known};
  const Estimate average = AverageEstimate(parts);
  EXPECT_NEAR(average.least_example_variance.value(), 0.001 * 0.001 / 4, 1e-18);
  EXPECT_NEAR(average.example_variance, (0.001 * 0.001 + 0.002 * 0.002) / 4, 1e-18);
}

}  // namespace
}  // namespace lra
