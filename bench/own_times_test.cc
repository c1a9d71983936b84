#include "bench/own_times.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(OwnTimes, WhatIsWithinASpanIsNotItsOwn) {
  // On track 1 `sum` calls `copy` twice and `copy` calls `fill` once; track 2 runs beside it.
  const std::vector<TracedSpan> spans = {
      {"fill", 1, 30, 40}, {"sum", 1, 0, 100},   {"copy", 1, 10, 20},
      {"copy", 1, 25, 60}, {"copy", 2, 5, 1005}, {"sum", 1, 100, 110},
  };
  const std::vector<BenchKernel> kernels = OwnTimes(spans, 1);
  ASSERT_EQ(kernels.size(), 3);
  EXPECT_EQ(kernels[0].name(), "copy");
  EXPECT_EQ(kernels[0].calls(), 3);
  EXPECT_DOUBLE_EQ(kernels[0].seconds(), 1035e-9);
  EXPECT_EQ(kernels[1].name(), "sum");
  EXPECT_EQ(kernels[1].calls(), 2);
  EXPECT_DOUBLE_EQ(kernels[1].seconds(), 65e-9);
  EXPECT_EQ(kernels[2].name(), "fill");
  EXPECT_DOUBLE_EQ(kernels[2].seconds(), 10e-9);
}

TEST(OwnTimes, OfSeveralStepsAreOfOne) {
  const std::vector<BenchKernel> kernels = OwnTimes({{"a", 0, 0, 10}, {"a", 0, 20, 40}}, 4);
  ASSERT_EQ(kernels.size(), 1);
  EXPECT_EQ(kernels[0].calls(), 0.5);
  EXPECT_DOUBLE_EQ(kernels[0].seconds(), 7.5e-9);
}

TEST(OwnTimes, SpansThatBeginTogetherNestByTheirEnds) {
  const std::vector<BenchKernel> kernels = OwnTimes({{"inner", 0, 0, 10}, {"outer", 0, 0, 30}}, 1);
  ASSERT_EQ(kernels.size(), 2);
  EXPECT_EQ(kernels[0].name(), "outer");
  EXPECT_DOUBLE_EQ(kernels[0].seconds(), 20e-9);
}

TEST(OwnTimes, NothingIsNothing) {
  EXPECT_TRUE(OwnTimes({}, 1).empty());
  EXPECT_EQ(BusySeconds({}, 1), 0);
}

// Two streams that overlap from 20 to 30, and a gap from 40 to 50.
TEST(BusySeconds, WhatOverlapsCountsOnce) {
  const std::vector<TracedSpan> spans = {
      {"b", 2, 20, 40}, {"a", 1, 0, 30}, {"a", 1, 50, 60}, {"inside", 2, 22, 25}};
  EXPECT_DOUBLE_EQ(BusySeconds(spans, 1), 50e-9);
  EXPECT_DOUBLE_EQ(BusySeconds(spans, 2), 25e-9);
}

}  // namespace
}  // namespace lra
