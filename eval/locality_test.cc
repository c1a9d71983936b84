#include "eval/locality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace lra {
namespace {

using Matrix = std::vector<double>;  // [tokens, *], row-major

Matrix Random(int64_t count, uint32_t seed) {
  std::mt19937 draw(seed);
  Matrix values(count);
  for (double& value : values) value = static_cast<double>(draw()) / 4294967296.0;
  return values;
}

// The definition: every weight, with the product of its decays.
Matrix DenseWeights(const HeadFeatures& head) {
  Matrix weights(head.tokens * head.tokens, 0.0);
  for (int64_t i = 0; i < head.tokens; ++i) {
    const auto set = [&](int64_t j, double decay) {
      for (int64_t f = 0; f < head.width; ++f) {
        weights[i * head.tokens + j] +=
            decay * head.query[i * head.width + f] * head.key[j * head.width + f];
      }
    };
    const auto gate = [&](int64_t s) {
      return head.log_decay == nullptr ? 1 : std::exp(head.log_decay[s]);
    };
    double decay = 1;
    for (int64_t j = i; j >= 0; decay *= gate(j), --j) set(j, decay);
    decay = 1;
    for (int64_t j = i + 1; j < head.tokens && !head.is_causal; ++j) set(j, decay *= gate(j));
  }
  return weights;
}

struct LinearCase {
  int64_t tokens;
  bool has_decay, is_causal;
};

class SumLinearlyTest : public testing::TestWithParam<LinearCase> {};

TEST_P(SumLinearlyTest, EqualsTheSumsOverEveryWeight) {
  const auto [tokens, has_decay, is_causal] = GetParam();
  constexpr int64_t kWidth = 3;
  const Matrix query = Random(tokens * kWidth, 1);
  Matrix key = Random(tokens * kWidth, 2), log_decay = Random(tokens, 3);
  for (double& value : log_decay) value = -value;
  for (int64_t f = 0; f < kWidth; ++f) key[(tokens / 2) * kWidth + f] = 0;  // a masked key
  const HeadFeatures head = {
      tokens, kWidth, query.data(), key.data(), has_decay ? log_decay.data() : nullptr, is_causal};
  const std::vector<int64_t> windows = {0, 1, 4, tokens - 1, tokens + 5};
  const LocalitySums linear = SumLinearly(head, windows);
  const LocalitySums dense = SumRows(DenseWeights(head), tokens, 0, windows);
  ASSERT_EQ(linear.values.size(), dense.values.size());
  for (size_t i = 0; i < dense.values.size(); ++i) {
    EXPECT_NEAR(linear.values[i], dense.values[i], 1e-11 * (1 + std::abs(dense.values[i]))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SumLinearlyTest,
                         testing::Values(LinearCase{1, false, false}, LinearCase{1, true, true},
                                         LinearCase{2, false, false}, LinearCase{17, false, false},
                                         LinearCase{17, false, true}, LinearCase{17, true, false},
                                         LinearCase{17, true, true}, LinearCase{64, false, false}));

// Differences of prefix sums must not wear out over a long sequence.
TEST(SumLinearlyTest, StaysExactOverManyTokens) {
  constexpr int64_t kTokens = 2000;
  const Matrix query = Random(kTokens, 4), key = Random(kTokens, 5);
  const Matrix log_decay(kTokens, -0.5);
  const HeadFeatures head = {kTokens, 1, query.data(), key.data(), log_decay.data(), false};
  const std::vector<int64_t> windows = {2};
  const LocalitySums linear = SumLinearly(head, windows);
  const LocalitySums dense = SumRows(DenseWeights(head), kTokens, 0, windows);
  for (size_t i = 0; i < dense.values.size(); ++i)
    ASSERT_NEAR(linear.values[i], dense.values[i], 1e-10 * (1 + dense.values[i])) << i;
}

TEST(SumRowsTest, CountsDistancesFromTheFirstQueryAndIgnoresSigns) {
  // Query 1 of keys 0 to 3: distances 1, 0, 1, 2.
  const LocalitySums sums = SumRows(Matrix{1, -2, 3, -4}, 4, /*first=*/1, {{0, 1}});
  EXPECT_EQ(sums.values, (Matrix{10, 12, 2, 6}));
}

TEST(MeanOverQueriesTest, LeavesOutMaskedQueriesAndThoseWithoutWeight) {
  // Three queries of two keys; the second has no weight, the third is masked.
  const LocalitySums sums = SumRows(Matrix{1, 3, 0, 0, 5, 5}, 2, 0, {{0}});
  const bool counted[] = {true, true, false};
  const auto mean = MeanOverQueries(sums, counted);
  ASSERT_TRUE(mean.has_value());
  EXPECT_DOUBLE_EQ(mean->mean_distance_tokens, 0.75);
  EXPECT_DOUBLE_EQ(mean->mass_within[0], 0.25);
  EXPECT_FALSE(MeanOverQueries(SumRows(Matrix{0, 0}, 2, 0, {{0}}), {}).has_value());
}

// Equal weights on N keys: the mean of |i - j| over all pairs is (N^2 - 1) / 3N.
TEST(MeanOverQueriesTest, KnowsTheMeanDistanceOfEqualWeights) {
  constexpr int64_t kTokens = 10;
  const Matrix ones(kTokens, 1.0);
  const HeadFeatures head = {kTokens, 1, ones.data(), ones.data(), nullptr, false};
  const auto mean = MeanOverQueries(SumLinearly(head, {{kTokens}}), {});
  EXPECT_NEAR(mean->mean_distance_tokens, 99.0 / 30, 1e-12);
  EXPECT_NEAR(mean->mass_within[0], 1, 1e-12);
}

TEST(EffectiveRankTest, IsTheExponentialOfTheEntropy) {
  EXPECT_DOUBLE_EQ(EffectiveRank(Matrix{2, 0, 0}), 1);
  EXPECT_NEAR(EffectiveRank(Matrix{5, 5, 5, 5}), 4, 1e-12);
  // Shares 3/4 and 1/4: exp(0.75 ln(4/3) + 0.25 ln 4) = 4 / 3^0.75.
  EXPECT_NEAR(EffectiveRank(Matrix{3, 1}), 4 / std::pow(3, 0.75), 1e-12);
  EXPECT_EQ(EffectiveRank(Matrix{0, 0}), 0);
}

TEST(MeanLocalityTest, AveragesRanksOverThoseThatHaveOne) {
  const Locality mean = MeanLocality({{2, {0.5}, 3.0}, {4, {0.25}, std::nullopt}});
  EXPECT_DOUBLE_EQ(mean.mean_distance_tokens, 3);
  EXPECT_DOUBLE_EQ(mean.mass_within[0], 0.375);
  EXPECT_DOUBLE_EQ(*mean.effective_rank, 3);
}

ModelLocality SmallModel() {
  ModelLocality model;
  model.run = "runs/a";
  model.method = "cosformer";
  model.examples = 2;
  model.mean_tokens = 10;
  model.windows = {1, 4};
  model.mean = {2.5, {0.3, 0.75}, 3.25};
  model.uniform = {3.3, {0.28, 0.7}, 1.0};
  model.heads = {{0, 1, {2.5, {0.3, 0.75}, std::nullopt}}};
  return model;
}

TEST(LocalityTextTest, HasALineForEachModelHeadAndEqualWeights) {
  EXPECT_EQ(
      LocalityText({SmallModel()}, true),
      "| run    | method        | part           | tokens | mean distance | within 1 | within 4 | "
      "effective rank |\n"
      "|--------|---------------|----------------|--------|---------------|----------|----------|"
      "----------------|\n"
      "| runs/a | cosformer     | all            |     10 |           2.5 |      0.3 |     0.75 | "
      "          3.25 |\n"
      "| runs/a | cosformer     | layer 0 head 1 |     10 |           2.5 |      0.3 |     0.75 | "
      "             - |\n"
      "| runs/a | equal weights | all            |     10 |           3.3 |     0.28 |      0.7 | "
      "             1 |\n");
}

TEST(LocalityTextTest, ModelsOfTheSameExamplesShareTheLineOfEqualWeights) {
  ModelLocality signed_model = SmallModel();
  signed_model.run = "runs/b";
  signed_model.is_absolute = true;
  EXPECT_EQ(LocalityCsv({SmallModel(), signed_model}, false),
            "table,run,method,part,tokens,mean distance,within 1,within 4,effective rank\n"
            "locality,runs/a,cosformer,all,10,2.5,0.3,0.75,3.25\n"
            "locality,runs/b,cosformer,all,10,2.5,0.3,0.75,3.25\n"
            "locality,runs/b,equal weights,all,10,3.3,0.28,0.7,1\n");
  EXPECT_NE(LocalityText({signed_model}, false).find("by their absolute values: runs/b."),
            std::string::npos);
}

TEST(LocalityTextTest, JsonLeavesOutRanksThatAreNotKnown) {
  const auto json = nlohmann::json::parse(LocalityJson({SmallModel()}));
  EXPECT_EQ(json[0]["mean"]["effective_rank"], 3.25);
  EXPECT_EQ(json[0]["heads"][0]["mass_within"], (std::vector<double>{0.3, 0.75}));
  EXPECT_FALSE(json[0]["heads"][0].contains("effective_rank"));
}

}  // namespace
}  // namespace lra
