#include "eval/compare_contrast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/crossed_test_util.h"
#include "eval/run_record.h"
#include "eval/scored_runs_test_util.h"

namespace lra {
namespace {

using ::lra::testing::FirstRight;
using ::lra::testing::RunsOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class CompareContrastTest : public ::lra::testing::ScoredRuns {
 protected:
  void SetUp() override {
    for (const char name : {'A', 'B', 'C', 'D'})
      AddRow(std::string(1, static_cast<char>(name - 'A' + 'a')), RunsOf(name));
    request_.runs = {folder_.path()};
  }
  ContrastAnalysis Analysis(const std::vector<std::string>& contrasts) {
    const auto analysis = AnalyseContrasts(request_, contrasts);
    EXPECT_TRUE(analysis.ok()) << analysis.status();
    return analysis.ok() ? *analysis : ContrastAnalysis();
  }
  std::string Refusal(const std::string& contrast, absl::StatusCode code) {
    const absl::Status status = AnalyseContrasts(request_, {contrast}).status();
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }
  CompareRequest request_;
};

TEST_F(CompareContrastTest, GoldenMainEffect) {
  const ContrastAnalysis analysis = Analysis({"0.5 a - 0.5 b + 0.5 c - 0.5 d"});
  const TaskContrast& task = analysis.contrasts.at(0).tasks.at(0);
  EXPECT_NEAR(task.effect.estimate.mean, 0.02375, 1e-12);
  EXPECT_NEAR(task.effect.interval.high, 0.02375 + 0.021901928, 5e-10);
  EXPECT_NEAR(task.effect.p, 0.04202962, 5e-9);
  EXPECT_TRUE(task.is_told_apart);
  EXPECT_THAT(task.seeds, ElementsAre(0, 1, 2));
  EXPECT_THAT(WriteContrasts(analysis),
              AllOf(HasSubstr("0.5 a - 0.5 b + 0.5 c - 0.5 d, listops: +2.4 points [+0.2, +4.6], "
                              "p = 0.042, 3 seeds, told apart from 0.\n"),
                    Not(HasSubstr("tests"))));
}

TEST_F(CompareContrastTest, ContrastsOfOneCommandAreCorrectedTogether) {
  const ContrastAnalysis analysis =
      Analysis({"0.5 a - 0.5 b + 0.5 c - 0.5 d", "a - b - c + d", "a - b"});
  EXPECT_NEAR(analysis.contrasts[1].tasks.at(0).effect.p, 0.096437539, 5e-10);
  EXPECT_NEAR(analysis.contrasts[2].tasks.at(0).effect.p, 0.031606279, 5e-10);  // the paired one
  // Holm: 3 x 0.0316, then at least that.
  EXPECT_NEAR(analysis.contrasts[2].tasks[0].corrected_p, 3 * 0.031606279, 5e-9);
  EXPECT_NEAR(analysis.contrasts[0].tasks.at(0).corrected_p, 3 * 0.031606279, 5e-9);
  EXPECT_NEAR(analysis.contrasts[1].tasks[0].corrected_p, 0.096437539, 5e-9);
  EXPECT_FALSE(analysis.contrasts[2].tasks[0].is_told_apart);
  EXPECT_THAT(WriteContrasts(analysis), HasSubstr("p = 0.032 (p = 0.095 over 3 tests), 3 seeds"));
  const auto json = nlohmann::json::parse(WriteContrastsJson(analysis));
  EXPECT_EQ(json["contrasts"][2]["contrast"], "a - b");
  EXPECT_EQ(json["contrasts"][2]["tasks"][0]["method"], "contrast");
}

// The same rule as for rows that are compared, whose p is as small.
TEST_F(CompareContrastTest, FewerThanTenDifferingExamplesAreNotToldApart) {
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "most", .seed = s}, FirstRight(1010));
    Add({.method = "nine", .seed = s}, FirstRight(1001));
    Add({.method = "ten", .seed = s}, FirstRight(1000));
  }
  const TaskContrast nine = Analysis({"most - nine"}).contrasts.at(0).tasks.at(0);
  EXPECT_LT(nine.corrected_p, 0.05);
  EXPECT_FALSE(nine.is_told_apart);
  EXPECT_TRUE(Analysis({"most - ten"}).contrasts.at(0).tasks.at(0).is_told_apart);
}

TEST_F(CompareContrastTest, ASeedThatFailedInOneRowIsDroppedAndNamed) {
  Add({.method = "a", .seed = 7}, RunsOf('A')[0]);
  AddDiverged("b", 7);
  const ContrastAnalysis analysis = Analysis({"a - b"});
  const TaskContrast& task = analysis.contrasts.at(0).tasks.at(0);
  EXPECT_THAT(task.dropped_seeds, ElementsAre(7));
  EXPECT_NEAR(task.effect.p, 0.031606279, 5e-10);
  EXPECT_THAT(WriteContrasts(analysis),
              HasSubstr("3 seeds (without 7, which did not train in every row)"));
}

TEST_F(CompareContrastTest, TasksAreAveraged) {
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .task = "text", .seed = s}, RunsOf('A')[s]);
    Add({.method = "b", .task = "text", .seed = s}, FirstRight(200 + s));
  }
  const ContrastAnalysis analysis = Analysis({"a - b"});
  const RowContrast& contrast = analysis.contrasts.at(0);
  ASSERT_EQ(contrast.tasks.size(), 2u);
  EXPECT_NEAR(contrast.average->estimate.mean,
              (contrast.tasks[0].effect.estimate.mean + contrast.tasks[1].effect.estimate.mean) / 2,
              1e-12);
  EXPECT_THAT(WriteContrasts(analysis), HasSubstr("a - b, average of these 2 tasks: +"));
  request_.task = "text";
  EXPECT_EQ(Analysis({"a - b"}).contrasts.at(0).tasks.size(), 1u);
}

TEST_F(CompareContrastTest, NeighboursThatDependOnEachOtherCountInBlocks) {
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .task = "bytes_lm", .seed = s}, RunsOf('A')[s]);
    Add({.method = "b", .task = "bytes_lm", .seed = s}, RunsOf('B')[s]);
  }
  const ContrastAnalysis analysis = Analysis({"a - b"});
  const std::vector<TaskContrast>& tasks = analysis.contrasts.at(0).tasks;
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_NEAR(tasks[0].effect.p, 0.031606279, 5e-10);
  EXPECT_GT(tasks[1].effect.p, 0.05);
  EXPECT_EQ(tasks[1].effect.estimate.example_degrees, 24);
  EXPECT_THAT(WriteContrasts(analysis), HasSubstr("3 seeds, in 25 blocks of 80 examples, not "));
  EXPECT_EQ(
      nlohmann::json::parse(WriteContrastsJson(analysis))["contrasts"][0]["tasks"][1]["blocks"],
      25);
}

// A row of the whole split beside rows that leave a last, smaller batch out.
TEST_F(CompareContrastTest, RowsAreCutToTheExamplesThatAllHave) {
  for (uint32_t s = 0; s < 3; ++s) {
    ExampleValues whole = RunsOf('B')[s];
    whole.insert(whole.end(), 16, 1.0);
    Add({.method = "whole", .seed = s}, whole);
  }
  const ContrastAnalysis analysis = Analysis({"a - b", "a - whole", "whole - a"});
  const auto task = [&](size_t contrast) { return analysis.contrasts[contrast].tasks.at(0); };
  EXPECT_EQ(task(1).examples, 2000);
  EXPECT_DOUBLE_EQ(task(1).effect.estimate.mean, task(0).effect.estimate.mean);
  EXPECT_DOUBLE_EQ(task(1).effect.p, task(0).effect.p);
  EXPECT_DOUBLE_EQ(task(2).effect.estimate.mean, -task(1).effect.estimate.mean);
  EXPECT_DOUBLE_EQ(task(2).effect.p, task(1).effect.p);
}

TEST_F(CompareContrastTest, SettingsOfATaskAreNamedAndNotAveraged) {
  const auto longer = [](RunRecord* record) {
    record->mutable_config()->mutable_train()->set_steps(9);
  };
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .seed = s}, RunsOf('A')[s], longer);
    Add({.method = "b", .seed = s}, RunsOf('B')[s], longer);
  }
  const ContrastAnalysis analysis = Analysis({"a - b"});
  EXPECT_FALSE(analysis.contrasts.at(0).average.has_value());
  EXPECT_THAT(
      WriteContrasts(analysis),
      AllOf(HasSubstr("a - b, listops (protocol fair@1, preset small, train.steps=9): +1.8 points"),
            HasSubstr("a - b: no average: several settings of listops are not averaged; ")));
  const auto json = nlohmann::json::parse(WriteContrastsJson(analysis));
  EXPECT_EQ(json["contrasts"][0]["tasks"][1]["setting"],
            "protocol fair@1, preset small, train.steps=9");
}

TEST_F(CompareContrastTest, ATaskWithTooFewSeedsIsNotAnalysedAndTheOthersAre) {
  for (uint32_t s = 0; s < 3; ++s) {
    AddDiverged("a", s, "text");
    Add({.method = "b", .task = "text", .seed = s}, RunsOf('B')[s]);
  }
  const ContrastAnalysis analysis = Analysis({"a - b"});
  EXPECT_EQ(analysis.tests(), 1u);
  EXPECT_NEAR(analysis.contrasts.at(0).tasks.at(0).corrected_p, 0.031606279, 5e-10);
  EXPECT_THAT(WriteContrasts(analysis),
              AllOf(HasSubstr("a - b, text: not compared: no seed trained in every row; at least 3 "
                              "must.\n"),
                    HasSubstr("a - b: no average: text is not compared.\n")));
  EXPECT_EQ(nlohmann::json::parse(
                WriteContrastsJson(analysis))["contrasts"][0]["not_compared"][0]["task"],
            "text");
}

TEST_F(CompareContrastTest, WhatIsNoContrastIsSaid) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Refusal("a - b - c", kInvalid), HasSubstr("its weights sum to -1, not to 0"));
  EXPECT_THAT(Refusal("a", kInvalid), HasSubstr("needs two rows or more"));
  EXPECT_THAT(Refusal("a - a", kInvalid), HasSubstr("a is named twice"));
  EXPECT_THAT(Refusal("a - - b", kInvalid), HasSubstr("a sign without a row"));
  EXPECT_THAT(Refusal("0 a - 0 b", kInvalid), HasSubstr("the weight of a is 0"));
  EXPECT_THAT(Refusal("", kInvalid), HasSubstr("--contrast \"\": a sign without a row"));
  EXPECT_THAT(Refusal("a - x", absl::StatusCode::kNotFound),
              AllOf(HasSubstr("no run of \"x\""), HasSubstr("there are: a, b, c, d")));
  Add({.method = "e", .seed = 0}, FirstRight(700));
  EXPECT_THAT(Refusal("a - e", absl::StatusCode::kFailedPrecondition),
              HasSubstr("\"a - e\": listops: only seed 0 trained in every row; at least 3 must"));
}

TEST(ParseContrastTest, ReadsSignsWeightsAndNamesWithSpaces) {
  const auto terms =
      *ParseContrast("-0.5 factorized (feature_map=RELU, power=2) + 0.5 bag-of-units");
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_EQ(terms[0].weight, -0.5);
  EXPECT_EQ(terms[0].row, "factorized (feature_map=RELU, power=2)");
  EXPECT_EQ(terms[1].weight, 0.5);
  EXPECT_EQ(terms[1].row, "bag-of-units");
}

TEST(ParseContrastTest, NamesWithSpacesNeedNoWeight) {
  const std::string a = "reformer (options.chunk_tokens=32, options.rounds=4)",
                    b = "reformer (options.chunk_tokens=64, options.rounds=4)";
  const auto terms = ParseContrast(a + " - " + b);
  ASSERT_TRUE(terms.ok()) << terms.status();
  ASSERT_EQ(terms->size(), 2u);
  EXPECT_EQ(terms->at(0).weight, 1);
  EXPECT_EQ(terms->at(0).row, a);
  EXPECT_EQ(terms->at(1).weight, -1);
  EXPECT_EQ(terms->at(1).row, b);
}

}  // namespace
}  // namespace lra
