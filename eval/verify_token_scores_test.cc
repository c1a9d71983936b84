#include "eval/verify_token_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "eval/sequences.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr double kRounding = 1e-3;

// A result of three examples: 0.5 nats of one target, 2 of four and 0.25 of two.
class VerifyTokenScoresTest : public testing::Test {
 protected:
  VerifyTokenScoresTest() { Set({1, 4, 2}, {0.5, 2, 0.25}); }

  void Set(const std::vector<int64_t>& targets, const std::vector<double>& nats) {
    all_.counts = {{kTargets, targets}};
    all_.totals = {{kNats, nats}};
    *result_.mutable_sums() = all_.Total();
    result_.set_examples(static_cast<int64_t>(targets.size()));
    held_ = metric_.ValuesOf(all_).value();
  }

  SampledScores Sample(const std::vector<int64_t>& examples) const {
    return {examples, all_.Pick(examples), std::vector<float>(examples.size(), 1)};
  }

  bool Compare(const SampledScores& remade) {
    return CompareTokenScores("P", {metric_, result_, held_}, remade, kRounding, &verification_);
  }

  const Metric& metric_ = **FindMetric("nats");
  ExampleSums all_;
  SplitResult result_;
  ExampleValues held_;
  Verification verification_;
};

TEST_F(VerifyTokenScoresTest, WhatTheCheckpointGivesIsWhatIsStored) {
  EXPECT_TRUE(Compare(Sample({2, 0, 1})));
  EXPECT_EQ(verification_.scores.same_bits, 3);
  EXPECT_TRUE(verification_.is_verified());
}

TEST_F(VerifyTokenScoresTest, APartOfTheExamplesIsNotAll) {
  EXPECT_FALSE(Compare(Sample({1})));
  EXPECT_EQ(verification_.scores.same_bits, 1);
  EXPECT_TRUE(verification_.is_verified());
}

TEST_F(VerifyTokenScoresTest, MeansOfEquallyManyTargetsAreStoredAsTheyAre) {
  Set({3, 3, 3}, {0.1, 0.7, 0.4});
  EXPECT_TRUE(Compare(Sample({0, 1, 2})));
  EXPECT_EQ(verification_.scores.same_bits, 3);
}

// Logits are off by 0.001 at most, so the second example's 2 nats of four targets by
// 2 * 0.001 * 2 + 4 * 0.001^2, and its value by 3/7 of that, 0.0017.
TEST_F(VerifyTokenScoresTest, WhatRoundingDoesNotExplainIsAChange) {
  held_[1] += 0.0016;
  EXPECT_FALSE(Compare(Sample({0, 1, 2})));
  EXPECT_EQ(verification_.scores.rounding, 1);
  EXPECT_THAT(verification_.changes, IsEmpty());
  held_[1] += 0.0004;
  EXPECT_FALSE(Compare(Sample({1})));
  EXPECT_EQ(verification_.scores.moved, 1);
  EXPECT_FALSE(verification_.is_verified());
  EXPECT_THAT(verification_.changes,
              ElementsAre(testing::AllOf(StartsWith("P: example 1: holds "),
                                         HasSubstr(", the checkpoint gives "))));
}

TEST_F(VerifyTokenScoresTest, LargerLogitsRoundFurther) {
  held_[1] += 0.01;
  SampledScores remade = Sample({1});
  remade.largest_logits = {10};
  Compare(remade);
  EXPECT_EQ(verification_.scores.rounding, 1);
}

// Where every target is sure, logits that are off hardly move a score.
TEST_F(VerifyTokenScoresTest, ASureGuessIsNoExcuse) {
  Set({4, 4}, {0.0001, 0.0001});
  held_[0] -= 0.00002;
  Compare(Sample({0, 1}));
  EXPECT_EQ(verification_.scores.moved, 1);
}

TEST_F(VerifyTokenScoresTest, NotANumberIsAChange) {
  held_[0] = std::nan("");
  Compare(Sample({0}));
  EXPECT_EQ(verification_.scores.moved, 1);
}

TEST_F(VerifyTokenScoresTest, OfManyChangesTenAreNamed) {
  Set(std::vector<int64_t>(13, 2), std::vector<double>(13, 1));
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < 13; ++i) {
    held_[i] += 1;
    examples.push_back(i);
  }
  Compare(Sample(examples));
  EXPECT_EQ(verification_.scores.moved, 13);
  ASSERT_EQ(verification_.changes.size(), 11u);
  EXPECT_THAT(verification_.changes[9], StartsWith("P: example 9: holds 1.5, the checkpoint"));
  EXPECT_EQ(verification_.changes[10], "P: 3 more examples differ like these");
}

TEST_F(VerifyTokenScoresTest, MoreExamplesThanAreStoredEndNothing) {
  held_.pop_back();
  EXPECT_FALSE(Compare(Sample({2, 0})));
  EXPECT_THAT(verification_.changes, ElementsAre("P: example 2: is not among the 2 that it holds"));
}

// Right, wrong and right as a whole, of unlike numbers of targets.
class VerifySequencesTest : public testing::Test {
 protected:
  VerifySequencesTest() {
    all_.counts = {{kTargets, {1, 4, 2}}, {kCorrect, {1, 3, 2}}};
    all_.totals = {{kNats, {0.1, 0.6925, 0.2}}};
    CountSequences(&all_);
    *result_.mutable_sums() = all_.Total();
    result_.set_examples(3);
    held_ = metric_.ValuesOf(all_).value();
  }

  bool Compare() {
    const SampledScores remade = {{0, 1, 2}, all_, {1, 1, 1}};
    return CompareTokenScores("P", {metric_, result_, held_}, remade, kRounding, &verification_);
  }

  const Metric& metric_ = **FindMetric(kSequenceAccuracy);
  ExampleSums all_;
  SplitResult result_;
  ExampleValues held_;
  Verification verification_;
};

TEST_F(VerifySequencesTest, TheyAreStoredAsTheyAre) {
  EXPECT_THAT(held_, ElementsAre(1, 0, 1));
  EXPECT_TRUE(Compare());
  EXPECT_EQ(verification_.scores.same_bits, 3);
}

// Two logits that are equal but for 2 * 0.001 leave the target ln 2 - 0.001 = 0.6921 nats or more.
TEST_F(VerifySequencesTest, OnlyAGuessThatWasNearlyATieMayTurn) {
  held_[1] = 1;
  EXPECT_FALSE(Compare());
  EXPECT_EQ(verification_.scores.rounding, 1);
  EXPECT_TRUE(verification_.is_verified());
  held_[0] = 0;
  EXPECT_FALSE(Compare());
  EXPECT_EQ(verification_.scores.moved, 1);
  EXPECT_THAT(verification_.changes, ElementsAre("P: example 0: holds 0, the checkpoint gives 1"));
}

TEST_F(VerifySequencesTest, AnotherNumberIsAChange) {
  held_[1] = 0.5;
  Compare();
  EXPECT_EQ(verification_.scores.moved, 1);
}

TEST_F(VerifyTokenScoresTest, TheFirstChangedExampleIsThePlace) {
  const auto place = [this](const std::vector<int64_t>& examples) {
    return PlaceInTokenScores({metric_, result_, held_}, Sample(examples), kRounding);
  };
  EXPECT_EQ(place({2, 1, 0}), "");
  held_[1] += 1;
  held_[2] += 1;
  EXPECT_THAT(place({2, 1, 0}), StartsWith("; example 1: holds "));
  EXPECT_THAT(place({2, 0}), StartsWith("; example 2: holds "));
}

TEST(VerificationOfTokensTest, TextAndJsonHaveTheScores) {
  Verification run{.directory = "runs/a", .intact_files = 4};
  run.scores = {.same_bits = 60, .rounding = 4};
  EXPECT_THAT(VerificationText({run}),
              StartsWith("verified runs/a: 4 files as recorded; 64 scores of examples made anew: "
                         "60 bit for bit, 4 up to rounding\n"));
  EXPECT_THAT(VerificationJson({run}), HasSubstr("\"up_to_rounding\": 4"));
}

}  // namespace
}  // namespace lra
