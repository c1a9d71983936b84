#include "inspect/sample_token.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lra/random.h"

namespace lra {
namespace {

const std::vector<float> kLogits = {5, 0, std::log(2.0f), std::log(5.0f), std::log(2.0f)};

// Id 0 is padding; the others have the probabilities 0.1, 0.2, 0.5 and 0.2.
TEST(SampleTokenTest, InvertsTheSumOfProbabilities) {
  const SampleRules rules = {.first_id = 1};
  EXPECT_EQ(SampleToken(kLogits, rules, 0), 1);
  EXPECT_EQ(SampleToken(kLogits, rules, 0.099), 1);
  EXPECT_EQ(SampleToken(kLogits, rules, 0.101), 2);
  EXPECT_EQ(SampleToken(kLogits, rules, 0.301), 3);
  EXPECT_EQ(SampleToken(kLogits, rules, 0.799), 3);
  EXPECT_EQ(SampleToken(kLogits, rules, 0.801), 4);
  EXPECT_EQ(SampleToken(kLogits, rules, std::nextafter(1.0, 0.0)), 4);
}

// Chi-square of 100,000 draws against the probabilities, 3 degrees of freedom: 16.3 at 0.1 %.
TEST(SampleTokenTest, DrawsAsOftenAsTheProbabilitiesSay) {
  constexpr int kDraws = 100000;
  RandomStream random(0, RandomDomain::kTest, {2, 0, 0});
  for (const double temperature : {1.0, 2.0}) {
    std::vector<double> expected, seen(4);
    double total = 0;
    for (int id = 1; id < 5; ++id) {
      expected.push_back(std::exp(kLogits[id] / temperature));
      total += expected.back();
    }
    for (int i = 0; i < kDraws; ++i)
      ++seen[SampleToken(kLogits, {temperature, 0, 1}, random.Uniform()) - 1];
    double chi_square = 0;
    for (int i = 0; i < 4; ++i) {
      const double mean = kDraws * expected[i] / total;
      chi_square += (seen[i] - mean) * (seen[i] - mean) / mean;
    }
    EXPECT_LT(chi_square, 16.3) << temperature;
  }
}

TEST(SampleTokenTest, TheLikeliest) {
  for (const double uniform : {0.0, 0.5, 0.999}) {
    EXPECT_EQ(SampleToken(kLogits, {.temperature = 0, .first_id = 1}, uniform), 3);
    EXPECT_EQ(SampleToken(kLogits, {.top_k = 1, .first_id = 1}, uniform), 3);
  }
  // The two are 3 and the first of those that are alike, 5 to 2.
  EXPECT_EQ(SampleToken(kLogits, {.top_k = 2, .first_id = 1}, 0.28), 2);
  EXPECT_EQ(SampleToken(kLogits, {.top_k = 2, .first_id = 1}, 0.29), 3);
  EXPECT_EQ(SampleToken(kLogits, {.top_k = 2, .first_id = 1}, 0.999), 3);
  EXPECT_EQ(SampleToken(kLogits, {.top_k = 9}, 0.1), 0);
}

TEST(SampleTokenTest, LargeLogitsAndNats) {
  EXPECT_EQ(SampleToken(std::vector<float>{1000, -1000, 1000}, {}, 0.6), 2);
  EXPECT_NEAR(NatsOf(std::vector<float>{1000, 1000 + std::log(3.0f)}, 0), std::log(4.0), 1e-4);
}

}  // namespace
}  // namespace lra
