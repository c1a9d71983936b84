#include "tasks/pathfinder/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tasks/pathfinder/exact_trig.h"

namespace lra::pathfinder {
namespace {

constexpr double kPi = std::numbers::pi;

// The error of pi as a double, pi - 3.141592653589793, is 1.2246467991473532e-16.
TEST(ExactTrigTest, KeepsTheErrorOfPi) {
  EXPECT_EQ(ExactSin(kPi), 1.2246467991473532e-16);
  EXPECT_EQ(ExactSin(-kPi), -1.2246467991473532e-16);
  EXPECT_EQ(ExactCos(kPi / 2), 6.123233995736766e-17);
  EXPECT_EQ(ExactCos(0), 1);
  EXPECT_EQ(ExactSin(0), 0);
  EXPECT_EQ(ExactCos(kPi), -1);
}

// The result is the nearest double: no other is nearer to the library's value in 64-bit mantissas.
TEST(ExactTrigTest, IsCorrectlyRounded) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double is double";
  for (double x = -9.5; x < 9.5; x += 0.0137) {
    const long double sine = std::sin(static_cast<long double>(x));
    const long double cosine = std::cos(static_cast<long double>(x));
    EXPECT_EQ(ExactSin(x), static_cast<double>(sine)) << x;
    EXPECT_EQ(ExactCos(x), static_cast<double>(cosine)) << x;
  }
  for (int y = -9; y <= 9; ++y) {
    for (int x = -9; x <= 9; ++x) {
      if (x == 0 && y == 0) continue;
      const long double angle =
          std::atan2(static_cast<long double>(y), static_cast<long double>(x));
      EXPECT_EQ(ExactAtan2(y, x), static_cast<double>(angle)) << y << " " << x;
    }
  }
}

TEST(GeometryTest, OppositeStaysBelowPi) {
  EXPECT_EQ(Opposite(-1), kPi - 1);
  EXPECT_EQ(Opposite(1), 1 - kPi);
  EXPECT_EQ(Opposite(0), -kPi);
  EXPECT_EQ(Opposite(-kPi), 0);
}

TEST(GeometryTest, TurnsAreTheSmallerAngle) {
  EXPECT_DOUBLE_EQ(TurnBetween(0.5, -0.25), 0.75);
  EXPECT_DOUBLE_EQ(TurnBetween(3, -3), 2 * kPi - 6);
  EXPECT_EQ(TurnBetween(kPi, -kPi), 0);
}

TEST(GeometryTest, StepsRoundUp) {
  EXPECT_EQ(MakeAxisStep(1.2).From(10), 12);
  EXPECT_EQ(MakeAxisStep(-1.2).From(10), 9);
  EXPECT_EQ(MakeAxisStep(3).From(10), 13);
  // sin 45 * 4 = 2.83.
  EXPECT_EQ(MakeStep(Radians(45), 4).From({10, 20}), (Point{13, 23}));
  EXPECT_EQ(MakeStep(Radians(-135), 4).From({10, 20}), (Point{8, 18}));
}

// 4 sin(pi) is 4.9e-16. Half the distance between doubles is 4.4e-16 from 4 to 8 and 8.9e-16 from 8
// on.
TEST(GeometryTest, RoundingErrorsMoveSmallCoordinatesOnly) {
  const Step left = MakeStep(kPi, 4);
  EXPECT_EQ(left.From({7, 20}), (Point{8, 16}));
  EXPECT_EQ(left.From({8, 20}), (Point{8, 16}));
  // -4 sin(pi) is rounded up to 0.
  EXPECT_EQ(MakeStep(-kPi, 4).From({1, 20}), (Point{1, 16}));
  for (int p = 0; p < 100; ++p) {
    for (const double displacement : {4 * ExactSin(kPi), 10 * ExactCos(kPi / 2), 0.7, -2.5, 2.0,
                                      4 * ExactCos(Radians(120)), 2 * ExactSin(Radians(30))}) {
      EXPECT_EQ(MakeAxisStep(displacement).From(p), std::ceil(p + displacement)) << p;
    }
  }
}

// The points are 3 (sin t, cos t) rounded down for t = 0, 1/3, 2/3, ...: (0, 3), (.98, 2.83),
// (1.86, 2.36), (2.52, 1.62).
TEST(GeometryTest, HeadOffsetsGoAroundTheCircle) {
  const std::vector<Point> offsets = HeadOffsets(3);
  ASSERT_EQ(offsets.size(), 18u);
  EXPECT_EQ(offsets[0], (Point{0, 3}));
  EXPECT_EQ(offsets[1], (Point{0, 2}));
  EXPECT_EQ(offsets[2], (Point{1, 2}));
  EXPECT_EQ(offsets[3], (Point{2, 1}));
}

// The radii are lengths plus margins of 64, 128 (two margins) and 256 pixels.
TEST(GeometryTest, HeadOffsetsAreCountedOnce) {
  EXPECT_EQ(HeadOffsets(6).size(), 38u);
  EXPECT_EQ(HeadOffsets(7).size(), 41u);
  EXPECT_EQ(HeadOffsets(8).size(), 49u);
}

}  // namespace
}  // namespace lra::pathfinder
