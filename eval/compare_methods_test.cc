#include "eval/compare_methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/crossed_test_util.h"
#include "eval/run_record.h"
#include "eval/scored_runs_test_util.h"
#include "eval/wanted_rows.h"

namespace lra {
namespace {

using ::lra::testing::FirstRight;
using ::lra::testing::RunsOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CompareMethodsTest : public ::lra::testing::ScoredRuns {
 protected:
  CompareRequest Request() const {
    CompareRequest request;
    request.a = "a";
    request.b = "b";
    request.runs = {folder_.path()};
    return request;
  }
  MethodComparison Compare(const CompareRequest& request) {
    const auto comparison = CompareMethods(request);
    EXPECT_TRUE(comparison.ok()) << comparison.status();
    return comparison.ok() ? *comparison : MethodComparison();
  }
  std::string Refusal(const CompareRequest& request, absl::StatusCode code) {
    const absl::Status status = CompareMethods(request).status();
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }
  void AddGolden() {
    AddRow("a", RunsOf('A'));
    AddRow("b", RunsOf('B'));
  }
};

TEST_F(CompareMethodsTest, GoldenUnpaired) {
  AddGolden();
  const MethodComparison comparison = Compare(Request());
  ASSERT_EQ(comparison.tasks.size(), 1u);
  const TaskDifference& task = comparison.tasks[0];
  EXPECT_NEAR(task.difference.estimate.mean, 0.018333333, 5e-10);
  EXPECT_NEAR(task.difference.p, 0.082462385, 5e-10);
  EXPECT_NEAR(task.difference.interval.high, 0.018333333 + 0.022473564, 1e-9);
  EXPECT_FALSE(task.is_told_apart);
  EXPECT_THAT(
      WriteComparison(comparison),
      AllOf(HasSubstr("a - b, listops: +1.8 points [-0.4, +4.1], p = 0.082, 3 + 3 runs, not "
                      "told apart; "),
            HasSubstr("points would have been seen with 80 %.\n"), Not(HasSubstr("average"))));
}

TEST_F(CompareMethodsTest, GoldenPairedAndEquivalence) {
  AddGolden();
  CompareRequest request = Request();
  request.is_paired = true;
  request.margin = 4;
  const MethodComparison comparison = Compare(request);
  const TaskDifference& task = comparison.tasks.at(0);
  EXPECT_NEAR(task.difference.p, 0.031606279, 5e-10);
  EXPECT_TRUE(task.is_told_apart);
  EXPECT_NEAR(task.equivalence->p, 0.010413167, 5e-10);
  EXPECT_THAT(WriteComparison(comparison), HasSubstr("; equal within 4 points (p = 0.01); "));
  request.margin = 1;
  EXPECT_THAT(WriteComparison(Compare(request)), HasSubstr("equal within 1 point ("));
  const auto json = nlohmann::json::parse(WriteComparisonJson(comparison));
  EXPECT_NEAR(json["tasks"][0]["p"], 0.031606279, 5e-10);
  EXPECT_EQ(json["tasks"][0]["equivalence"]["equivalent"], true);
  EXPECT_EQ(json["tasks"][0]["method"], "paired");
}

TEST_F(CompareMethodsTest, SaysWhichSeedsWerePaired) {
  AddGolden();
  CompareRequest request = Request();
  request.is_paired = true;
  EXPECT_THAT(WriteComparison(Compare(request)), HasSubstr("3 + 3 runs, paired, "));
  Add({.method = "a", .seed = 7}, RunsOf('A')[0]);
  const MethodComparison comparison = Compare(request);
  EXPECT_THAT(WriteComparison(comparison),
              HasSubstr("4 + 3 runs, paired by seeds 0, 1, 2 alone, "));
  const auto json = nlohmann::json::parse(WriteComparisonJson(comparison));
  EXPECT_EQ(json["tasks"][0]["paired_seeds"], std::vector<int>({0, 1, 2}));
}

TEST_F(CompareMethodsTest, SingleRunsAreComparedAsModels) {
  Add({.method = "a"}, RunsOf('A')[0]);
  Add({.method = "b"}, RunsOf('B')[0]);
  const MethodComparison comparison = Compare(Request());
  EXPECT_NEAR(comparison.tasks.at(0).difference.p, 9.4987e-05, 5e-10);
  EXPECT_THAT(WriteComparison(comparison),
              HasSubstr("1 + 1 runs (these two models: exact McNemar"));
}

// Its seeds may scatter as far as they like.
TEST_F(CompareMethodsTest, ASingleRunIsSaidToStandForItsModelAlone) {
  AddGolden();
  EXPECT_THAT(WriteComparison(Compare(Request())), Not(HasSubstr("not covered")));
  EXPECT_THAT(WriteComparisonJson(Compare(Request())), Not(HasSubstr("seeds_not_covered")));
  Add({.method = "single"}, FirstRight(200));
  CompareRequest request = Request();
  request.b = "single";
  const MethodComparison comparison = Compare(request);
  EXPECT_THAT(
      WriteComparison(comparison),
      HasSubstr("3 + 1 runs (of single one trained model: its seeds are not covered), told"));
  EXPECT_EQ(nlohmann::json::parse(WriteComparisonJson(comparison))["tasks"][0]["seeds_not_covered"],
            std::vector<std::string>{"b"});
  AddBaseline("guess", FirstRight(100));
  request.b = "guess";
  EXPECT_THAT(WriteComparison(Compare(request)), Not(HasSubstr("not covered")));
}

TEST_F(CompareMethodsTest, NeighboursThatDependOnEachOtherCountInBlocks) {
  AddGolden();
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .task = "bytes_lm", .seed = s}, RunsOf('A')[s]);
    Add({.method = "b", .task = "bytes_lm", .seed = s}, RunsOf('B')[s]);
  }
  const MethodComparison comparison = Compare(Request());
  ASSERT_EQ(comparison.tasks.size(), 2u);
  const TaskDifference &plain = comparison.tasks[0], &blocks = comparison.tasks[1];
  EXPECT_NEAR(plain.difference.p, 0.082462385, 5e-10);
  EXPECT_GT(blocks.difference.p, plain.difference.p);
  EXPECT_EQ(blocks.difference.estimate.example_degrees, 24);
  EXPECT_THAT(WriteComparison(comparison),
              AllOf(HasSubstr("3 + 3 runs, in 25 blocks of 80 examples, not told apart"),
                    HasSubstr("3 + 3 runs, not told apart")));
  const auto json = nlohmann::json::parse(WriteComparisonJson(comparison));
  EXPECT_FALSE(json["tasks"][0].contains("blocks"));
  EXPECT_EQ(json["tasks"][1]["blocks"], 25);
}

// McNemar's test takes examples for independent.
TEST_F(CompareMethodsTest, SingleRunsInBlocksAreComparedByTheirBlocks) {
  Add({.method = "a", .task = "bytes_lm"}, RunsOf('A')[0]);
  Add({.method = "b", .task = "bytes_lm"}, RunsOf('B')[0]);
  const MethodComparison comparison = Compare(Request());
  EXPECT_EQ(comparison.tasks.at(0).difference.method, "unpaired");
  EXPECT_GT(comparison.tasks[0].difference.p, 0.05);
  EXPECT_THAT(
      WriteComparison(comparison),
      HasSubstr("1 + 1 runs (these two models: their seeds are not covered), in 25 blocks"));
}

TEST_F(CompareMethodsTest, FoldersStandForTheirRuns) {
  AddGolden();
  CompareRequest request = Request();
  request.a = found_.runs[0].directory;  // one run of a
  const MethodComparison comparison = Compare(request);
  EXPECT_EQ(comparison.a, "a");
  EXPECT_EQ(comparison.tasks.at(0).runs_a, 1);
  EXPECT_EQ(comparison.tasks[0].runs_b, 3);
  request.b = found_.runs[1].directory;  // another run of the same row
  EXPECT_EQ(Compare(request).a, found_.runs[0].directory);
}

TEST_F(CompareMethodsTest, FailedRunsAreLeftOutAndCounted) {
  AddGolden();
  AddDiverged("b", 3);
  const MethodComparison comparison = Compare(Request());
  EXPECT_NEAR(comparison.tasks.at(0).difference.p, 0.082462385, 5e-10);
  EXPECT_EQ(comparison.tasks[0].runs_b, 4);
  EXPECT_THAT(
      WriteComparison(comparison),
      AllOf(HasSubstr("3 + 3/4 runs"), HasSubstr("how many trained: Fisher's exact p = 1")));
}

TEST_F(CompareMethodsTest, SeveralTasksAreCorrectedAndAveraged) {
  AddGolden();
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .task = "image", .seed = s}, RunsOf('A')[s]);
    Add({.method = "b", .task = "image", .seed = s}, FirstRight(200 + s));
  }
  const MethodComparison comparison = Compare(Request());
  ASSERT_EQ(comparison.tasks.size(), 2u);
  EXPECT_NEAR(comparison.tasks[0].corrected_p, 0.082462385, 5e-10);
  EXPECT_TRUE(comparison.tasks[1].is_told_apart);
  EXPECT_NEAR(comparison.average->estimate.mean,
              (comparison.tasks[0].difference.estimate.mean +
               comparison.tasks[1].difference.estimate.mean) /
                  2,
              1e-12);
  EXPECT_THAT(WriteComparison(comparison), HasSubstr("a - b, average of these 2 tasks: +"));
  CompareRequest request = Request();
  request.task = "image";
  EXPECT_EQ(Compare(request).tasks.size(), 1u);
  EXPECT_TRUE(OnlyDesign(Compare(request)).ok());
  EXPECT_THAT(std::string(OnlyDesign(comparison).status().message()),
              HasSubstr("listops, image; choose one with --task"));
}

// One task under two settings is neither averaged nor shown without what tells them apart.
TEST_F(CompareMethodsTest, SettingsOfATaskAreNamedAndNotAveraged) {
  AddGolden();
  const auto longer = [](RunRecord* record) {
    record->mutable_config()->mutable_train()->set_steps(9);
  };
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .seed = s}, RunsOf('A')[s], longer);
    Add({.method = "b", .seed = s}, FirstRight(200 + s), longer);
  }
  const MethodComparison comparison = Compare(Request());
  ASSERT_EQ(comparison.tasks.size(), 2u);
  EXPECT_EQ(comparison.tasks[0].setting, "protocol fair@1, preset small, train.steps=150");
  EXPECT_EQ(comparison.tasks[1].setting, "protocol fair@1, preset small, train.steps=9");
  EXPECT_FALSE(comparison.average.has_value());
  const std::string text = WriteComparison(comparison);
  EXPECT_THAT(
      text, AllOf(HasSubstr("a - b, listops (protocol fair@1, preset small, train.steps=150): +1.8 "
                            "points [-0.4, +4.1], p = 0.082 (p = 0.082 over these 2 comparisons)"),
                  HasSubstr("a - b, listops (protocol fair@1, preset small, train.steps=9): +"),
                  HasSubstr("a - b: no average: several settings of listops are not averaged; "),
                  Not(HasSubstr("average of these"))));
  const auto json = nlohmann::json::parse(WriteComparisonJson(comparison));
  EXPECT_EQ(json["tasks"][1]["setting"], "protocol fair@1, preset small, train.steps=9");
  EXPECT_FALSE(json.contains("average"));
  EXPECT_THAT(json["no_average"].get<std::string>(), HasSubstr("several settings of listops"));
  EXPECT_THAT(
      std::string(OnlyDesign(comparison).status().message()),
      AllOf(HasSubstr("listops (protocol fair@1, preset small, train.steps=150), listops ("),
            HasSubstr("--task, and of several settings one with folders of its runs in --runs")));
  CompareRequest request = Request();
  request.runs.clear();
  for (size_t run = 6; run < 12; ++run) request.runs.push_back(found_.runs[run].directory);
  EXPECT_TRUE(OnlyDesign(Compare(request)).ok());
  EXPECT_EQ(Compare(request).tasks.at(0).setting, "");
}

TEST_F(CompareMethodsTest, TasksOfSeveralProtocolsAreNotAveraged) {
  AddGolden();
  const auto strong = [](RunRecord* record) { record->mutable_config()->set_protocol("strong@1"); };
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .task = "text", .seed = s}, RunsOf('A')[s], strong);
    Add({.method = "b", .task = "text", .seed = s}, RunsOf('B')[s], strong);
  }
  const MethodComparison comparison = Compare(Request());
  ASSERT_EQ(comparison.tasks.size(), 2u);
  EXPECT_EQ(comparison.tasks[1].setting, "protocol strong@1, preset small");
  EXPECT_FALSE(comparison.average.has_value());
  EXPECT_THAT(WriteComparison(comparison),
              HasSubstr("a - b: no average: the tasks' rules, settings or metrics differ.\n"));
}

TEST_F(CompareMethodsTest, EachLineHasTheLabelsOfItsColumn) {
  AddGolden();
  const auto by_hand = [](RunRecord* record) {
    record->mutable_config()->mutable_attention()->set_dropout(0.1f);
    (*record->mutable_provenance())["attention.dropout"] = "--set";
  };
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .task = "text", .seed = s}, RunsOf('A')[s], by_hand);
    Add({.method = "b", .task = "text", .seed = s}, RunsOf('B')[s]);
  }
  const MethodComparison comparison = Compare(Request());
  EXPECT_EQ(comparison.a, "a");
  EXPECT_THAT(WriteComparison(comparison),
              AllOf(HasSubstr("a - b, listops: "), HasSubstr("a (dropout=0.1) - b, text: "),
                    HasSubstr("a - b, average of these 2 tasks: ")));
  EXPECT_EQ(nlohmann::json::parse(WriteComparisonJson(comparison))["tasks"][1]["a"],
            "a (dropout=0.1)");
}

// What failed on one task says nothing against the others.
TEST_F(CompareMethodsTest, ATaskOfFailedRunsIsNotComparedAndTheOthersAre) {
  AddGolden();
  for (uint32_t s = 0; s < 2; ++s) {
    AddDiverged("a", s, "text");
    Add({.method = "b", .task = "text", .seed = s}, RunsOf('B')[s]);
  }
  const MethodComparison comparison = Compare(Request());
  ASSERT_EQ(comparison.tasks.size(), 1u);
  EXPECT_NEAR(comparison.tasks[0].corrected_p, 0.082462385, 5e-10);
  EXPECT_FALSE(comparison.average.has_value());
  EXPECT_THAT(WriteComparison(comparison),
              AllOf(HasSubstr("a - b, listops: +1.8 points"),
                    HasSubstr("a - b, text: not compared: no run of a trained (0 of 2).\n"),
                    HasSubstr("a - b: no average: text is not compared.\n")));
  const auto json = nlohmann::json::parse(WriteComparisonJson(comparison));
  ASSERT_EQ(json["not_compared"].size(), 1u);
  EXPECT_EQ(json["not_compared"][0]["task"], "text");
  EXPECT_EQ(json["not_compared"][0]["reason"], "no run of a trained (0 of 2)");
  CompareRequest request = Request();
  request.task = "text";
  EXPECT_EQ(Refusal(request, absl::StatusCode::kFailedPrecondition),
            "text: no run of a trained (0 of 2)");
}

TEST(WhyNoAverageTest, UnlikeUnitsHaveNone) {
  TaskSpec pixels;
  pixels.set_content(TaskSpec::GREY_IMAGE);
  const Metric* const dims = *MetricOf(pixels, kBitsPerToken);
  ComparedColumn digits, colours, symbols;
  digits.task = "digits", digits.metric = dims;
  colours.task = "colours", colours.metric = dims;
  symbols.task = "symbols", symbols.metric = *FindMetric(kBitsPerToken);
  EXPECT_EQ(internal::WhyNoAverage({digits, colours}, {}), "");
  EXPECT_EQ(internal::WhyNoAverage({digits, symbols}, {}),
            "the tasks' units differ (bits/dim, bits/token)");
}

// Bonett and Price's 90 % interval of 20 examples without a difference: +-1.645 sqrt(2) / 22.
TEST_F(CompareMethodsTest, FewExamplesOnWhichTwoRunsAgreeDoNotMakeThemEqual) {
  Add({.method = "a"}, FirstRight(10, 20));
  Add({.method = "b"}, FirstRight(10, 20));
  CompareRequest request = Request();
  const TaskDifference task = Compare(request).tasks.at(0);
  EXPECT_EQ(task.difference.p, 1);
  EXPECT_FALSE(task.equivalence->is_equivalent);
  EXPECT_NEAR(task.equivalence->p, 0.43818855, 5e-9);
  EXPECT_NEAR(task.equivalence->interval.high, 0.10573520, 5e-9);
  request.margin = 11;
  EXPECT_TRUE(Compare(request).tasks.at(0).equivalence->is_equivalent);
}

// 50 of 2,000 examples: the record was changed.
TEST_F(CompareMethodsTest, ARunOfAnotherNumberOfExamplesIsNotCounted) {
  AddGolden();
  Add({.method = "a", .seed = 7}, FirstRight(20, 50));
  const TaskDifference task = Compare(Request()).tasks.at(0);
  EXPECT_EQ(task.runs_a, 3);
  EXPECT_NEAR(task.difference.p, 0.082462385, 5e-10);
}

// Classes that take turns cancel in blocks, so single examples scatter by more and are taken.
TEST_F(CompareMethodsTest, BlocksAreNamedOnlyWhereTheyWereTaken) {
  ExampleValues even(2000), odd(2000);
  for (size_t i = 0; i < even.size(); ++i) (i % 2 == 0 ? even : odd)[i] = 1;
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .task = "bytes_lm", .seed = s}, even);
    Add({.method = "b", .task = "bytes_lm", .seed = s}, odd);
  }
  const MethodComparison comparison = Compare(Request());
  EXPECT_THAT(WriteComparison(comparison), HasSubstr("3 + 3 runs, not told apart"));
  const auto json = nlohmann::json::parse(WriteComparisonJson(comparison));
  EXPECT_FALSE(json["tasks"][0].contains("blocks"));
}

TEST_F(CompareMethodsTest, WhatCannotBeComparedIsSaid) {
  AddGolden();
  CompareRequest request = Request();
  request.b = "bb";
  EXPECT_THAT(Refusal(request, absl::StatusCode::kNotFound),
              AllOf(HasSubstr("no run of \"bb\""), HasSubstr("there are: a, b")));
  request.metric = "bits_per_token";
  EXPECT_THAT(Refusal(request, absl::StatusCode::kNotFound),
              AllOf(HasSubstr("no run of \"a\": no run below "),
                    HasSubstr(" is scored on the test split and has bits_per_token"),
                    Not(HasSubstr("there are"))));
  request = Request();
  request.margin = 0;
  EXPECT_THAT(Refusal(request, absl::StatusCode::kInvalidArgument), HasSubstr("--margin 0"));
  request = Request();
  request.is_paired = true;
  Add({.method = "c", .seed = 8}, FirstRight(700));
  request.b = "c";
  EXPECT_THAT(Refusal(request, absl::StatusCode::kInvalidArgument),
              HasSubstr("listops: the seeds 0, 1, 2 and 8 trained; at least 3 must"));
  LocatedRecord longer = found_.runs[0];
  longer.record.set_method("longer");
  longer.record.mutable_config()->mutable_train()->set_steps(9);
  ASSERT_TRUE(WriteRunRecord(folder_.path() + "/longer", longer.record).ok());
  request = Request();
  request.b = "longer";
  EXPECT_THAT(Refusal(request, absl::StatusCode::kFailedPrecondition),
              HasSubstr("config.train.steps (150 there, 9 here)"));
}

}  // namespace
}  // namespace lra
