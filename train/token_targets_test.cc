#include "train/token_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/random.h"

namespace lra {
namespace {

using testing::ElementsAre;

// Two examples, of 4 and 2 tokens.
HostBatch Batch() {
  HostBatch batch;
  batch.batch = 2;
  batch.length = 4;
  batch.tokens = {1, 2, 3, 4, 5, 6, 0, 0};
  batch.lengths = {4, 2};
  batch.example_ids = {7, 9};
  return batch;
}

PretrainConfig Masked(float fraction) {
  PretrainConfig config;
  config.set_objective(PretrainConfig::MASKED);
  config.set_masked_fraction(fraction);
  return config;
}

TEST(TokenTargetsTest, CausalGuessesTheNextRealToken) {
  PretrainConfig config;
  config.set_objective(PretrainConfig::CAUSAL);
  const TokenTargets targets = MakeTokenTargets(Batch(), 0, config, 1, 2);
  EXPECT_THAT(targets.places.positions, ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(targets.ids, ElementsAre(2, 3, 4, 6));
  EXPECT_TRUE(targets.places.hidden.empty());
}

TEST(TokenTargetsTest, MaskedGuessesWhatIsHiddenAndNothingElse) {
  for (uint32_t step = 0; step < 50; ++step) {
    const HostBatch batch = Batch();
    const TokenTargets targets = MakeTokenTargets(batch, 0, Masked(0.3f), 1, step);
    std::vector<uint8_t> hidden(8, 0);
    for (size_t i = 0; i < targets.places.positions.size(); ++i) {
      hidden[targets.places.positions[i]] = 1;
      EXPECT_EQ(targets.ids[i], batch.tokens[targets.places.positions[i]]);
      EXPECT_NE(targets.ids[i], 0) << "padding is never guessed";
    }
    EXPECT_EQ(hidden, targets.places.hidden);
    EXPECT_TRUE(hidden[0] + hidden[1] + hidden[2] + hidden[3] > 0);
    EXPECT_TRUE(hidden[4] + hidden[5] > 0) << "at least one of each example";
  }
}

TEST(TokenTargetsTest, TheShareIsTheFraction) {
  HostBatch batch;
  batch.batch = 1;
  batch.length = 20000;
  batch.tokens.assign(20000, 3);
  batch.lengths = {20000};
  batch.example_ids = {0};
  const size_t hidden = MakeTokenTargets(batch, 0, Masked(0.25f), 3, 0).places.positions.size();
  // four standard deviations of the binomial
  EXPECT_NEAR(static_cast<double>(hidden), 5000, 4 * 61.3);
}

// Neither the rest of the batch nor padding changes anything.
TEST(TokenTargetsTest, AnExampleIsTheSameAloneAndPadded) {
  HostBatch alone;
  alone.batch = 1;
  alone.length = 2;
  alone.tokens = {5, 6};
  alone.lengths = {2};
  alone.example_ids = {9};
  for (uint32_t step = 0; step < 20; ++step) {
    const TokenTargets both = MakeTokenTargets(Batch(), 0, Masked(0.5f), 1, step);
    const TokenTargets one = MakeTokenTargets(alone, 0, Masked(0.5f), 1, step);
    EXPECT_EQ(both.places.hidden[4], one.places.hidden[0]);
    EXPECT_EQ(both.places.hidden[5], one.places.hidden[1]);
  }
}

// The definition written out: a stream for each (seed, step, example, column), with one draw for
// each token.
TEST(TokenTargetsTest, TheSecondTextsOfPairsHaveDrawsOfTheirOwn) {
  HostBatch batch;
  batch.batch = 1;
  batch.length = 30;
  batch.tokens.assign(30, 3);
  batch.lengths = {30};
  batch.length_b = 40;
  batch.tokens_b.assign(40, 5);
  batch.lengths_b = {35};
  batch.example_ids = {7};
  std::vector<std::vector<uint8_t>> hidden;
  for (const uint32_t column : {0, 1}) {
    const TokenTargets targets =
        MakeTokenTargets(batch, static_cast<int>(column), Masked(0.5f), 4, 11);
    RandomStream stream(4, RandomDomain::kHiddenTokens, {7, 11, column});
    std::vector<uint8_t> expected(column == 0 ? 30 : 40, 0);
    for (int n = 0; n < (column == 0 ? 30 : 35); ++n) expected[n] = stream.Uniform() < 0.5;
    EXPECT_EQ(targets.places.hidden, expected);
    EXPECT_EQ(targets.places.column, static_cast<int>(column));
    EXPECT_THAT(targets.ids, testing::Each(column == 0 ? 3 : 5));
    EXPECT_EQ(targets.ids.size(), targets.places.positions.size());
    hidden.push_back({expected.begin(), expected.begin() + 30});
  }
  EXPECT_NE(hidden[0], hidden[1]);
}

TEST(TokenTargetsTest, SeedAndStepMatter) {
  HostBatch batch = Batch();
  batch.length = 64;
  batch.tokens.assign(128, 1);
  batch.lengths = {64, 64};
  const auto hidden = [&](uint32_t seed, uint32_t step) {
    return MakeTokenTargets(batch, 0, Masked(0.5f), seed, step).places.hidden;
  };
  EXPECT_EQ(hidden(1, 1), hidden(1, 1));
  EXPECT_NE(hidden(1, 1), hidden(1, 2));
  EXPECT_NE(hidden(1, 1), hidden(2, 1));
}

}  // namespace
}  // namespace lra
