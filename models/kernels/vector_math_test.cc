// Scalar functions that loops vectorise, against the standard library in float64.
#include "models/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lra {
namespace {

// How many units of its last digit `value` is off.
double UlpsOff(float value, double expected) {
  const auto nearest = static_cast<float>(expected);
  const float above = std::nextafter(std::fabs(nearest), std::numeric_limits<float>::infinity());
  return std::fabs(value - expected) / (above - std::fabs(nearest));
}

TEST(VectorMathTest, Exponentials) {
  for (float x = 0; x > -86; x -= 0.00917f) {
    EXPECT_LE(UlpsOff(ExpNonPositive(x), std::exp(static_cast<double>(x))), 2) << x;
    EXPECT_LE(UlpsOff(Exp2(x), std::exp2(static_cast<double>(x))), 2) << x;
  }
  EXPECT_GT(ExpNonPositive(-1e30f), 0);
  EXPECT_TRUE(std::isnan(ExpNonPositive(std::nanf(""))));
}

TEST(VectorMathTest, LogarithmOfEverySize) {
  EXPECT_EQ(LogNormal(1), 0);
  for (float x = std::numeric_limits<float>::min(); x < 3e38f; x *= 1.0173f)
    EXPECT_LE(UlpsOff(LogNormal(x), std::log(static_cast<double>(x))), 2) << x;
  EXPECT_TRUE(std::isnan(LogNormal(std::nanf(""))));
  // Around 1, where the logarithm is small beside x.
  for (float x = 0.5f; x < 2; x += 0.000917f)
    EXPECT_LE(UlpsOff(LogNormal(x), std::log(static_cast<double>(x))), 2) << x;
}

TEST(VectorMathTest, SineAndCosine) {
  for (float x = -kSinCosLimit; x < kSinCosLimit; x += 0.917f) {
    float sine = 0, cosine = 0;
    SinCos(x, &sine, &cosine);
    EXPECT_NEAR(sine, std::sin(static_cast<double>(x)), 2e-7) << x;
    EXPECT_NEAR(cosine, std::cos(static_cast<double>(x)), 2e-7) << x;
  }
}

}  // namespace
}  // namespace lra
