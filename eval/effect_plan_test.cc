#include "eval/effect_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

AblationFactors TwoByThree() {
  return {{"positions", {"none", "absolute"}}, {"reweighting", {"none", "cosine", "decay"}}};
}

// By EffectText().
std::map<std::string, PlannedEffect> Named(const AblationFactors& factors) {
  std::map<std::string, PlannedEffect> named;
  for (const PlannedEffect& effect : PlanEffects(factors))
    EXPECT_TRUE(named.emplace(EffectText(factors, effect), effect).second);
  return named;
}

TEST(EffectPlan, CellsAreNumberedWithTheLastFactorFirst) {
  const AblationFactors factors = TwoByThree();
  EXPECT_EQ(CellCount(factors), 6);
  EXPECT_THAT(LevelsOf(factors, 0), ElementsAre(0, 0));
  EXPECT_THAT(LevelsOf(factors, 1), ElementsAre(0, 1));
  EXPECT_THAT(LevelsOf(factors, 5), ElementsAre(1, 2));
  EXPECT_EQ(CellText(factors, 4), "positions absolute, reweighting cosine");
}

TEST(EffectPlan, AMainEffectIsTheMeanOverMatchedPairs) {
  const PlannedEffect decay = Named(TwoByThree()).at("reweighting: decay - none");
  EXPECT_EQ(decay.kind, EffectKind::kMain);
  EXPECT_EQ(decay.matches, 2);
  EXPECT_THAT(decay.weights, ElementsAre(Pair(0, -0.5), Pair(2, 0.5), Pair(3, -0.5), Pair(5, 0.5)));
  const PlannedEffect positions = Named(TwoByThree()).at("positions: absolute - none");
  EXPECT_EQ(positions.matches, 3);
  EXPECT_THAT(positions.weights, SizeIs(6));
}

TEST(EffectPlan, AnInteractionIsADifferenceOfDifferences) {
  const PlannedEffect effect =
      Named(TwoByThree()).at("(positions: absolute - none) x (reweighting: cosine - none)");
  EXPECT_EQ(effect.kind, EffectKind::kInteraction);
  EXPECT_EQ(effect.matches, 1);
  EXPECT_THAT(effect.weights, ElementsAre(Pair(0, 1), Pair(1, -1), Pair(3, -1), Pair(4, 1)));
}

TEST(EffectPlan, ASimpleEffectIsOnePair) {
  const auto named = Named(TwoByThree());
  const PlannedEffect effect = named.at("reweighting: decay - none, at positions absolute");
  EXPECT_EQ(effect.kind, EffectKind::kSimple);
  EXPECT_THAT(effect.weights, ElementsAre(Pair(3, -1), Pair(5, 1)));
  EXPECT_THAT(named.at("positions: absolute - none, at reweighting cosine").weights,
              ElementsAre(Pair(1, -1), Pair(4, 1)));
}

TEST(EffectPlan, HasEveryEffectOnce) {
  // Main 1 + 2, interactions 2, simple 1 x 3 + 2 x 2.
  EXPECT_THAT(Named(TwoByThree()), SizeIs(3 + 2 + 7));
  // With one factor, main effects are the simple ones.
  EXPECT_THAT(Named({{"a", {"x", "y", "z"}}}), SizeIs(2));
  // Main 1 + 1 + 2, interactions 1 + 2 + 2, simple 6 + 6 + 2 x 4.
  EXPECT_THAT(Named({{"a", {"x", "y"}}, {"b", {"x", "y"}}, {"c", {"x", "y", "z"}}}),
              SizeIs(4 + 5 + 20));
}

// On outcomes that are a sum of the factors' effects, every main and simple effect is what was put
// in, and every interaction is 0.
TEST(EffectPlan, RecoversAddedEffects) {
  const AblationFactors factors = {{"a", {"0", "3"}}, {"b", {"0", "5", "7"}}, {"c", {"0", "11"}}};
  const std::vector<std::vector<double>> put_in = {{0, 3}, {0, 5, 7}, {0, 11}};
  for (const PlannedEffect& effect : PlanEffects(factors)) {
    double value = 0, weights = 0;
    for (const auto& [cell, weight] : effect.weights) {
      const std::vector<int> levels = LevelsOf(factors, cell);
      double outcome = 100;
      for (size_t f = 0; f < levels.size(); ++f) outcome += put_in[f][levels[f]];
      value += weight * outcome;
      weights += weight;
    }
    const LevelChange& change = effect.changes[0];
    const double expected =
        effect.kind == EffectKind::kInteraction ? 0 : put_in[change.factor][change.level];
    EXPECT_NEAR(value, expected, 1e-12) << EffectText(factors, effect);
    EXPECT_NEAR(weights, 0, 1e-12);
  }
}

}  // namespace
}  // namespace lra
