// What is said where numbers do not come out bit for bit, as on another machine;
// tests/verify_cli_test.sh has the rest.
#include "eval/verify_predictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "datasets/npy.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kRounding = 1e-3;

// Three examples of two classes.
class VerifyPredictionsTest : public testing::Test {
 protected:
  VerifyPredictionsTest() {
    spec_.set_name("small");
    spec_.set_classes(2);
    result_.set_split("test");
    result_.set_examples(3);
    result_.set_predictions_sha256("of what was there before");
  }
  // What is said of a file that holds `held` where the checkpoint gives `made`.
  std::string Place(const std::vector<float>& held, const std::vector<float>& made) {
    EXPECT_TRUE(WriteNpy(path_, held, {3, 2}).ok());
    return PlaceInPredictions(path_, result_, made, spec_, kRounding);
  }

  TestFolder folder_;
  const std::string path_ = folder_.File("predictions.npy");
  TaskSpec spec_;
  SplitResult result_;
};

TEST_F(VerifyPredictionsTest, TheExampleIsNamedWhereTheByteCannotBe) {
  EXPECT_EQ(Place({1, 0, 0, 1, 4, 0}, {1.0001F, 0, 0, 1, 1, 0}),
            "; example 2: holds (4, 0), the checkpoint gives (1, 0)");
}

TEST_F(VerifyPredictionsTest, ARowOfNothingButRoundingIsNotAccused) {
  EXPECT_THAT(Place({1, 0, 0, 1, 1, 0}, {1.0001F, 0, 0, 1, 1, 0}),
              HasSubstr("the byte cannot be told"));
}

TEST_F(VerifyPredictionsTest, AFileOfAnotherShapeSaysSo) {
  result_.set_examples(4);
  EXPECT_THAT(Place({1, 0, 0, 1, 1, 0}, {1, 0, 0, 1, 1, 0, 1, 0}), HasSubstr("has 4"));
}

TEST_F(VerifyPredictionsTest, WhatRoundingDoesNotExplainIsAChange) {
  Verification verification;
  const LogitsOfFile stored{{1, 0, 0.5F, 0.5004F, 1, 0, 3, 0, 1, 0}, false};
  // Example 3, then 1, 0, 2 and 4: moved, a tie, the same bits, another guess, rounding.
  const SampledLogits sample{{3, 1, 0, 2, 4}, {2, 0, 0.5004F, 0.5F, 1, 0, 0, 1, 1.0001F, 0}};
  ComparePredictions("P", stored, sample, 2, kRounding, &verification);
  EXPECT_EQ(verification.predictions.moved, 1);
  EXPECT_EQ(verification.predictions.ties, 1);
  EXPECT_EQ(verification.predictions.same_bits, 1);
  EXPECT_EQ(verification.predictions.other_guesses, 1);
  EXPECT_EQ(verification.predictions.rounding, 1);
  EXPECT_THAT(verification.changes,
              ElementsAre("P: example 3: holds (3, 0), the checkpoint gives (2, 0)",
                          "P: example 2: holds (1, 0), the checkpoint gives (0, 1)"));
}

TEST_F(VerifyPredictionsTest, OfManyChangesTenAreNamed) {
  Verification verification;
  LogitsOfFile stored;
  SampledLogits sample;
  for (int i = 0; i < 13; ++i) {
    sample.examples.push_back(i);
    for (const float logit : {1, 0}) {
      sample.logits.push_back(logit);
      stored.logits.push_back(20 * logit);
    }
  }
  ComparePredictions("P", stored, sample, 2, kRounding, &verification);
  EXPECT_EQ(verification.predictions.moved, 13);
  ASSERT_EQ(verification.changes.size(), 11u);
  EXPECT_EQ(verification.changes[9], "P: example 9: holds (20, 0), the checkpoint gives (1, 0)");
  EXPECT_EQ(verification.changes[10], "P: 3 more examples differ like these");
}

TEST_F(VerifyPredictionsTest, MoreExamplesThanAreStoredEndNothing) {
  Verification verification;
  ComparePredictions("P", {{1, 0}, false}, {{1, 0}, {1, 0, 1, 0}}, 2, kRounding, &verification);
  EXPECT_EQ(verification.predictions.same_bits, 1);
  EXPECT_THAT(verification.changes, ElementsAre("P: example 1: is not among the 1 that it holds"));
  EXPECT_EQ(Place({1, 0, 0, 1, 4, 0}, {1, 0, 0, 1, 4, 0, 1, 0}),
            "; holds 6 logits, the checkpoint gives 8");
}

TEST_F(VerifyPredictionsTest, HalfFilesAreComparedAsTheyAreStored) {
  Verification verification;
  const float stored = 0.33325195F;  // float16 nearest to a third
  ComparePredictions("P", {{stored, 0}, true}, {{0}, {1.0F / 3, 0}}, 2, kRounding, &verification);
  EXPECT_EQ(verification.predictions.same_bits, 1);
}

TEST(VerificationTest, TextAndJsonSayWhatWasNotVerified) {
  Verification verified{.directory = "runs/a", .intact_files = 9};
  verified.predictions.Add(PredictionMatch::kSameBits);
  verified.predictions.Add(PredictionMatch::kTie);
  Verification changed = verified;
  changed.changes = {"runs/b/x: was changed"};
  const Verification unknown{.directory = "runs/c",
                             .missing_files = {"predictions.npy"},
                             .not_remade = {"a baseline has no checkpoint"}};
  const std::vector<Verification> runs = {verified, changed, unknown};
  EXPECT_EQ(VerificationText(runs),
            "verified runs/a: 9 files as recorded; 2 predictions made anew: 1 bit for bit, 1 with "
            "another guess between classes that are equal up to rounding\n"
            "CHANGED runs/a: 9 files as recorded; 2 predictions made anew: 1 bit for bit, 1 with "
            "another guess between classes that are equal up to rounding\n"
            "  runs/b/x: was changed\n"
            "not verified runs/c: 0 files as recorded; not there: predictions.npy; not made anew: "
            "a baseline has no checkpoint\n"
            "3 runs: 1 verified, 1 changed, 1 not verified\n");
  const auto json = nlohmann::json::parse(VerificationJson(runs));
  EXPECT_EQ(json["not_verified"], 1);
  EXPECT_EQ(json["runs"][1]["changes"][0], "runs/b/x: was changed");
  EXPECT_EQ(ChangedRuns(runs).message(), "something differs in 1 of 3 runs");
  EXPECT_TRUE(ChangedRuns({unknown}).ok());
}

}  // namespace
}  // namespace lra
