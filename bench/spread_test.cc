#include "bench/spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lra {
namespace {

std::vector<LengthPoint> Power(double factor, double exponent) {
  std::vector<LengthPoint> points;
  for (double tokens = 64; tokens <= 1024; tokens *= 2)
    points.push_back({tokens, factor * std::pow(tokens, exponent)});
  return points;
}

TEST(MedianOf, TakesTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(MedianOf({7}), 7);
}

TEST(Quartiles, InterpolateBetweenOrderStatistics) {
  const Interval quartiles = Quartiles({5, 1, 2, 4, 3});
  EXPECT_EQ(quartiles.low, 2);
  EXPECT_EQ(quartiles.high, 4);
}

TEST(IntervalOfMedian, OfFewValuesIsTheirRangeWithItsTrueCoverage) {
  const MedianInterval interval = IntervalOfMedian({5, 1, 2, 4, 3});
  EXPECT_EQ(interval.median, 3);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 5);
  EXPECT_NEAR(interval.coverage, 1 - 2.0 / 32, 1e-12);  // all five on one side, or on the other
}

TEST(IntervalOfMedian, LeavesOuterValuesOutWhereCoverageAllows) {
  const MedianInterval interval = IntervalOfMedian({10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 9);
  EXPECT_NEAR(interval.coverage, 1 - 2 * 11.0 / 1024, 1e-12);
}

TEST(IntervalOfMedian, OfOneValueCoversNothing) {
  const MedianInterval interval = IntervalOfMedian({7});
  EXPECT_EQ(interval.low, 7);
  EXPECT_EQ(interval.high, 7);
  EXPECT_EQ(interval.coverage, 0);
}

TEST(GrowthExponent, FindsThePower) {
  EXPECT_NEAR(*GrowthExponent(Power(3, 2)), 2, 1e-12);
  EXPECT_NEAR(*GrowthExponent(Power(0.1, 1.5)), 1.5, 1e-12);
}

TEST(GrowthExponent, FitsTheLastPointsOnly) {
  std::vector<LengthPoint> points = Power(1, 2);
  points[0].value = 1e9;
  EXPECT_NEAR(*GrowthExponent(points, 4), 2, 1e-12);
  EXPECT_FALSE(GrowthExponent({{64, 1}}).has_value());
}

TEST(CrossoverTokens, FindsWhereAPowerOvertakesAnother) {
  // 100 N is below N^2 from 100 on.
  EXPECT_NEAR(*CrossoverTokens(Power(1, 2), Power(100, 1)), 100, 1e-9);
}

TEST(CrossoverTokens, IsNothingWithoutACrossing) {
  EXPECT_FALSE(CrossoverTokens(Power(100, 1), Power(1, 2)).has_value());  // slower in the end
  EXPECT_FALSE(CrossoverTokens(Power(2, 1), Power(1, 1)).has_value());    // faster throughout
  EXPECT_FALSE(CrossoverTokens(Power(2, 1), {{3, 1}}).has_value());       // no length in common
}

TEST(CrossoverTokens, TakesTheLastOfSeveral) {
  const std::vector<LengthPoint> a = {{1, 1}, {2, 1}, {4, 1}, {8, 1}};
  const std::vector<LengthPoint> b = {{1, 2}, {2, 0.5}, {4, 2}, {8, 0.5}};
  EXPECT_NEAR(*CrossoverTokens(a, b), std::sqrt(4 * 8.0), 1e-9);
}

}  // namespace
}  // namespace lra
