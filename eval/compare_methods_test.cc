#include "eval/compare_methods.h"

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

TEST_F(CompareMethodsTest, SingleRunsAreComparedAsModels) {
  Add({.method = "a"}, RunsOf('A')[0]);
  Add({.method = "b"}, RunsOf('B')[0]);
  const MethodComparison comparison = Compare(Request());
  EXPECT_NEAR(comparison.tasks.at(0).difference.p, 9.4987e-05, 5e-10);
  EXPECT_THAT(WriteComparison(comparison),
              HasSubstr("1 + 1 runs (these two models: exact McNemar"));
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
  ASSERT_TRUE(WriteRunRecord(folder_.path() + "/diverged", found_.runs.back().record).ok());
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
    Add({.method = "a", .task = "text", .seed = s}, RunsOf('A')[s]);
    Add({.method = "b", .task = "text", .seed = s}, FirstRight(200 + s));
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
  request.task = "text";
  EXPECT_EQ(Compare(request).tasks.size(), 1u);
  EXPECT_TRUE(OnlyDesign(Compare(request)).ok());
  EXPECT_THAT(std::string(OnlyDesign(comparison).status().message()),
              HasSubstr("listops, text; choose one with --task"));
}

TEST_F(CompareMethodsTest, WhatCannotBeComparedIsSaid) {
  AddGolden();
  CompareRequest request = Request();
  request.b = "bb";
  EXPECT_THAT(Refusal(request, absl::StatusCode::kNotFound),
              AllOf(HasSubstr("no run of \"bb\""), HasSubstr("there are: a, b")));
  request = Request();
  request.margin = 0;
  EXPECT_THAT(Refusal(request, absl::StatusCode::kInvalidArgument), HasSubstr("--margin 0"));
  request = Request();
  request.is_paired = true;
  Add({.method = "c", .seed = 8}, FirstRight(700));
  request.b = "c";
  EXPECT_THAT(Refusal(request, absl::StatusCode::kInvalidArgument),
              HasSubstr("has the seeds 0, 1, 2 and 8; at least 3"));
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
