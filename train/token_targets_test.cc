#include "train/token_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

using testing::ElementsAre;

// Two examples of 4 and 2 tokens.
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
  const TokenTargets targets = MakeTokenTargets(Batch(), config, 1, 2);
  EXPECT_THAT(targets.positions, ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(targets.ids, ElementsAre(2, 3, 4, 6));
  EXPECT_TRUE(targets.hidden.empty());
}

TEST(TokenTargetsTest, MaskedGuessesWhatIsHiddenAndNothingElse) {
  for (uint32_t step = 0; step < 50; ++step) {
    const HostBatch batch = Batch();
    const TokenTargets targets = MakeTokenTargets(batch, Masked(0.3f), 1, step);
    std::vector<uint8_t> hidden(8, 0);
    for (size_t i = 0; i < targets.positions.size(); ++i) {
      hidden[targets.positions[i]] = 1;
      EXPECT_EQ(targets.ids[i], batch.tokens[targets.positions[i]]);
      EXPECT_NE(targets.ids[i], 0) << "padding is never guessed";
    }
    EXPECT_EQ(hidden, targets.hidden);
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
  const size_t hidden = MakeTokenTargets(batch, Masked(0.25f), 3, 0).positions.size();
  EXPECT_NEAR(static_cast<double>(hidden), 5000, 4 * 61.3);  // four binomial deviations
}

// Neither the batch nor its padding has a say.
TEST(TokenTargetsTest, AnExampleIsTheSameAloneAndPadded) {
  HostBatch alone;
  alone.batch = 1;
  alone.length = 2;
  alone.tokens = {5, 6};
  alone.lengths = {2};
  alone.example_ids = {9};
  for (uint32_t step = 0; step < 20; ++step) {
    const TokenTargets both = MakeTokenTargets(Batch(), Masked(0.5f), 1, step);
    const TokenTargets one = MakeTokenTargets(alone, Masked(0.5f), 1, step);
    EXPECT_EQ(both.hidden[4], one.hidden[0]);
    EXPECT_EQ(both.hidden[5], one.hidden[1]);
  }
}

TEST(TokenTargetsTest, SeedAndStepMatter) {
  HostBatch batch = Batch();
  batch.length = 64;
  batch.tokens.assign(128, 1);
  batch.lengths = {64, 64};
  const auto hidden = [&](uint32_t seed, uint32_t step) {
    return MakeTokenTargets(batch, Masked(0.5f), seed, step).hidden;
  };
  EXPECT_EQ(hidden(1, 1), hidden(1, 1));
  EXPECT_NE(hidden(1, 1), hidden(1, 2));
  EXPECT_NE(hidden(1, 1), hidden(2, 1));
}

}  // namespace
}  // namespace lra
