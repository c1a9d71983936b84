// Tests of pairs of a suite, each a design of its own, whose p are corrected for each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "eval/ablation.h"
#include "eval/ablation_text.h"
#include "eval/crossed_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Data set P: "cosine" is a pair, at two levels of positions.
AblationResult PairDesign(const std::string& metric,
                          const std::vector<std::string>& tasks = {"listops"}) {
  Ablation ablation;
  ablation.split = "test";
  ablation.factors = {{"positions", {"none", "absolute"}}, {"pair", {"none", "cosine"}}};
  ablation.pair_factor = 1;
  for (const std::string& task : tasks) {
    ablation.tasks.push_back({task,
                              *FindMetric(metric),
                              {0, 1, 2},
                              {RunsOf('B'), RunsOf('A'), RunsOf('D'), RunsOf('C')}});
  }
  return AnalyseAblation(std::move(ablation), 0.95);
}

const AblationEffect& MainEffect(const AblationResult& result, int factor,
                                 const std::string& where = "listops") {
  for (const AblationEffect& effect : result.effects) {
    if (effect.plan.kind == EffectKind::kMain && WhereText(effect) == where &&
        effect.plan.changes.front().factor == factor)
      return effect;
  }
  ADD_FAILURE() << "no main effect of factor " << factor << " on " << where;
  return result.effects.front();
}

const AblationEffect& Interaction(const AblationResult& result) {
  for (const AblationEffect& effect : result.effects) {
    if (effect.plan.kind == EffectKind::kInteraction && !effect.is_average()) return effect;
  }
  ADD_FAILURE() << "no interaction";
  return result.effects.front();
}

// The golden p of one is 0.042, so of two it is 0.084.
TEST(AblationPairs, ThoseOfOneMetricAreCorrectedTogether) {
  std::vector<AblationResult> designs = {PairDesign(kAccuracy), PairDesign(kAccuracy),
                                         PairDesign(kNats)};
  EXPECT_TRUE(MainEffect(designs[0], 1).is_told_apart);
  CorrectPairs(&designs);
  for (const int d : {0, 1}) {
    const AblationEffect& effect = MainEffect(designs[d], 1);
    EXPECT_EQ(effect.family_tests, 2);
    EXPECT_NEAR(effect.p, 0.04202962, 5e-9);
    EXPECT_NEAR(*effect.corrected_p, 2 * 0.04202962, 1e-8);
    EXPECT_FALSE(effect.is_told_apart);
    EXPECT_THAT(EffectSentence(designs[d], effect), HasSubstr("(p = 0.084 over 2 tests)"));
  }
  EXPECT_EQ(MainEffect(designs[2], 1).family_tests, 1);
  EXPECT_TRUE(MainEffect(designs[2], 1).is_told_apart);
}

// Each pair beside a factor is one more chance of an interaction, and of an effect of the factor.
TEST(AblationPairs, InteractionsAndOtherFactorsOfPairsAreFamiliesToo) {
  std::vector<AblationResult> designs = {PairDesign(kAccuracy), PairDesign(kAccuracy),
                                         PairDesign(kNats)};
  const double positions_p = MainEffect(designs[0], 0).p;
  CorrectPairs(&designs);
  EXPECT_EQ(MainEffect(designs[0], 0).family_tests, 2);
  EXPECT_NEAR(*MainEffect(designs[0], 0).corrected_p, std::min(1.0, 2 * positions_p), 1e-12);
  EXPECT_EQ(MainEffect(designs[2], 0).family_tests, 1);
  for (const int d : {0, 1}) {
    const AblationEffect& interaction = Interaction(designs[d]);
    EXPECT_EQ(interaction.family_tests, 2);
    EXPECT_NEAR(interaction.p, 0.096437539, 5e-10);
    EXPECT_NEAR(*interaction.corrected_p, 2 * 0.096437539, 1e-9);
  }
  EXPECT_EQ(Interaction(designs[2]).family_tests, 1);
}

TEST(AblationPairs, AnotherFactorOfPairsIsKnownByItsName) {
  std::vector<AblationResult> designs = {PairDesign(kAccuracy), PairDesign(kAccuracy)};
  designs[1].ablation.factors[0].name = "length";
  CorrectPairs(&designs);
  EXPECT_EQ(MainEffect(designs[0], 0).family_tests, 1);
  EXPECT_EQ(MainEffect(designs[1], 0).family_tests, 1);
  EXPECT_EQ(Interaction(designs[1]).family_tests, 2);
}

TEST(AblationPairs, AveragesOverTasksAreAFamilyOfTheirOwn) {
  std::vector<AblationResult> designs = {PairDesign(kAccuracy, {"listops", "text"}),
                                         PairDesign(kAccuracy)};
  CorrectPairs(&designs);
  EXPECT_EQ(MainEffect(designs[0], 1, "text").family_tests, 3);
  EXPECT_EQ(MainEffect(designs[1], 1).family_tests, 3);
  EXPECT_EQ(MainEffect(designs[0], 1, "the average of the tasks").family_tests, 1);
}

TEST(AblationPairs, WhatIsNoPairStaysAsItWas) {
  std::vector<AblationResult> designs = {PairDesign(kAccuracy), PairDesign(kAccuracy)};
  for (AblationResult& design : designs) design.ablation.pair_factor = -1;
  CorrectPairs(&designs);
  EXPECT_EQ(MainEffect(designs[0], 1).family_tests, 1);
  EXPECT_TRUE(MainEffect(designs[0], 1).is_told_apart);
  EXPECT_EQ(Interaction(designs[0]).family_tests, 1);
}

TEST(AblationPairs, TheTextSaysOverWhatIsCorrected) {
  const std::string of_pairs = "Holm: p corrected over all pairs of the suite by this metric";
  AblationReport report = {"mine", "", {PairDesign(kAccuracy)}};
  EXPECT_THAT(
      WriteAblation(report),
      HasSubstr(of_pairs + ", or another factor's main effects in them, or over all interactions"));
  report.designs[0].ablation.pair_factor = -1;
  EXPECT_THAT(WriteAblation(report),
              AllOf(HasSubstr("Holm: p corrected over the factor's main effects, or over all "
                              "interactions, of all tasks (of averages, over the averages)."),
                    Not(HasSubstr(of_pairs))));
}

}  // namespace
}  // namespace lra
