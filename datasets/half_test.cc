#include "datasets/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lra {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of the bits from the definition: sign, five bits of exponent, ten of fraction.
double Defined(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

TEST(HalfTest, EveryNumberHasItsValueAndComesBack) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    if ((bits >> 10 & 31) == 31) continue;  // no number
    ASSERT_EQ(half, Defined(half.bits)) << bits;
    ASSERT_EQ(std::signbit(float{half}), bits >= 0x8000) << bits;
    ASSERT_EQ(Half::Nearest(half).bits, bits);
  }
}

// Between two neighbours: below their mean the lower, above it the upper, at it the even one.
TEST(HalfTest, RoundsToTheNearestAndThenToEven) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const float low = Half{static_cast<uint16_t>(bits)};
    const float high = Half{static_cast<uint16_t>(bits + 1)};
    const float mean = low + (high - low) / 2;
    ASSERT_EQ(Half::Nearest(std::nextafter(mean, 0.0f)).bits, bits);
    ASSERT_EQ(Half::Nearest(mean).bits, bits + bits % 2);
    ASSERT_EQ(Half::Nearest(std::nextafter(mean, kInfinity)).bits, bits + 1);
    ASSERT_EQ(Half::Nearest(-mean).bits, 0x8000 + bits + bits % 2);
  }
}

TEST(HalfTest, TheEndsOfTheRange) {
  EXPECT_EQ(Half::Nearest(65519.996f), Half::kLargest);
  EXPECT_EQ(Half::Nearest(65520), kInfinity);
  EXPECT_EQ(Half::Nearest(-1e30f), -kInfinity);
  EXPECT_EQ(Half::Nearest(kInfinity), kInfinity);
  EXPECT_EQ(Half::Nearest(-kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(float{Half::Nearest(std::nanf(""))}));
  EXPECT_EQ(Half::Nearest(1e-30f).bits, 0);
  EXPECT_EQ(Half::Nearest(-1e-30f).bits, 0x8000);
}

TEST(HalfTest, NextBelow) {
  EXPECT_EQ(NextBelow(Half::Nearest(1)), 1 - std::ldexp(1.0f, -11));
  EXPECT_EQ(NextBelow(Half::Nearest(-1)), -1 - std::ldexp(1.0f, -10));
  EXPECT_EQ(NextBelow(Half::Nearest(0.0f)), -std::ldexp(1.0f, -24));
  EXPECT_EQ(NextBelow(Half::Nearest(-0.0f)), -std::ldexp(1.0f, -24));
  EXPECT_EQ(NextBelow(Half::Nearest(-65504)), -kInfinity);
}

}  // namespace
}  // namespace lra
