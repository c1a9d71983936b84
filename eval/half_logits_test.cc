#include "eval/half_logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Rounded(const std::vector<float>& logits, int classes) {
  const auto rounded = HalfLogits("p.npy", logits, classes);
  EXPECT_TRUE(rounded.ok()) << rounded.status();
  return {rounded->begin(), rounded->end()};
}

TEST(HalfLogitsTest, AreTheNearestNumbers) {
  EXPECT_THAT(Rounded({0.1f, 3, -2.5f, 65504}, 2), ElementsAre(0.0999755859375f, 3, -2.5f, 65504));
}

// 1.0001 and 1.0002 both round to 1. The guess is the first of the largest.
TEST(HalfLogitsTest, AGuessStaysAGuess) {
  const float below = 1 - std::ldexp(1.0f, -11);
  EXPECT_THAT(Rounded({1.0001f, 1.0002f, 1.0001f}, 3), ElementsAre(below, 1, 1));
  EXPECT_THAT(Rounded({1.0002f, 1.0001f, 1.0001f}, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(Rounded({0.9999f, 1.0001f, 1.0002f}, 3), ElementsAre(below, below, 1));
  EXPECT_THAT(Rounded({-1e-30f, 0}, 2), ElementsAre(-std::ldexp(1.0f, -24), 0));
}

TEST(HalfLogitsTest, WhatIsNotFiniteStaysAndWhatWouldBecomeSoIsRefused) {
  const std::vector<float> odd = Rounded({-kInfinity, kInfinity, std::nanf(""), 1}, 2);
  EXPECT_EQ(odd[0], -kInfinity);
  EXPECT_EQ(odd[1], kInfinity);
  EXPECT_TRUE(std::isnan(odd[2]));
  const absl::Status status = HalfLogits("p.npy", {0, 1, 2, -70000}, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("p.npy: row 1, class 1: the logit -70000 is beyond float16's 65504"),
                    HasSubstr("--half-logits")));
}

}  // namespace
}  // namespace lra
