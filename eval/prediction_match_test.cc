#include "eval/prediction_match.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace lra {
namespace {

constexpr double kRounding = 1e-3;

PredictionMatch Match(const std::vector<float>& stored, const std::vector<float>& anew) {
  return MatchPrediction(stored, anew, kRounding);
}

TEST(PredictionMatchTest, BitsAreToldFromValues) {
  EXPECT_EQ(Match({1, 2}, {1, 2}), PredictionMatch::kSameBits);
  EXPECT_EQ(Match({0.0F, 2}, {-0.0F, 2}), PredictionMatch::kRounding);
}

TEST(PredictionMatchTest, RoundingIsAPartOfTheLargestLogit) {
  EXPECT_EQ(Match({0.5F, 0.1F}, {0.5009F, 0.1F}), PredictionMatch::kRounding);
  EXPECT_EQ(Match({0.5F, 0.1F}, {0.502F, 0.1F}), PredictionMatch::kMoved);
  EXPECT_EQ(Match({10, 0.1F}, {10, 0.109F}), PredictionMatch::kRounding);
  EXPECT_EQ(Match({10, 0.1F}, {10, 0.12F}), PredictionMatch::kMoved);
}

TEST(PredictionMatchTest, AnotherGuessCountsUnlessRoundingAloneDecides) {
  EXPECT_EQ(Match({0.5F, 0.499F}, {0.499F, 0.5F}), PredictionMatch::kTie);
  EXPECT_EQ(Match({0.5F, 0.4F}, {0.4F, 0.5F}), PredictionMatch::kOtherGuess);
  // A tie on one side only is none.
  EXPECT_EQ(Match({0.5F, 0.499F}, {0.4F, 0.5F}), PredictionMatch::kOtherGuess);
  EXPECT_EQ(Match({0.5F, 0.4F}, {0.499F, 0.5F}), PredictionMatch::kOtherGuess);
}

TEST(PredictionMatchTest, NoInfinityOrNanIsRounding) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {nan, -nan, inf, -inf}) {
    EXPECT_EQ(Match({0.5F, 0.1F}, {value, value}), PredictionMatch::kOtherGuess) << value;
    EXPECT_EQ(Match({0.5F, 0.1F}, {0.5F, value}), PredictionMatch::kOtherGuess) << value;
    EXPECT_EQ(Match({0.5F, value}, {0.5F, 0.1F}), PredictionMatch::kOtherGuess) << value;
    EXPECT_EQ(Match({0.5F, value}, {0.5F, value}), PredictionMatch::kSameBits) << value;
  }
  // Where both have the same one, the other logits decide, by their own size.
  EXPECT_EQ(Match({0.5F, -inf}, {0.5001F, -inf}), PredictionMatch::kRounding);
  EXPECT_EQ(Match({0.5F, -inf}, {0.6F, -inf}), PredictionMatch::kMoved);
  EXPECT_EQ(Match({0.5F, inf}, {0.5F, -inf}), PredictionMatch::kOtherGuess);
}

TEST(PredictionMatchTest, CoarserNumbersRoundCoarser) {
  NumericsConfig numerics;
  EXPECT_DOUBLE_EQ(RoundingOf(numerics, false), 1e-3);
  EXPECT_DOUBLE_EQ(RoundingOf(numerics, true), 2e-3);
  numerics.set_precision(NumericsConfig::BF16);
  EXPECT_DOUBLE_EQ(RoundingOf(numerics, false), 3e-2);
}

}  // namespace
}  // namespace lra
