#include "eval/run_interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/leaderboard.h"
#include "eval/score_text.h"
#include "eval/scored_runs_test_util.h"

namespace lra {
namespace {

using ::lra::testing::FirstRight;
using ::testing::HasSubstr;

class RunIntervalTest : public ::lra::testing::ScoredRuns {
 protected:
  // The score line of the run that was added last.
  absl::StatusOr<std::string> Line() const {
    const LocatedRecord& run = found_.runs.back();
    return DescribeScoreWithInterval(**FindMetric(kAccuracy), run.record.results(0),
                                     {run.directory, run.record.data().task()}, 0.95);
  }
  // What --json prints of it.
  nlohmann::json Json() const {
    const LocatedRecord& run = found_.runs.back();
    nlohmann::json json;
    const absl::Status status =
        AddScoreWithInterval(**FindMetric(kAccuracy), run.record.results(0),
                             {run.directory, run.record.data().task()}, 0.95, &json);
    EXPECT_TRUE(status.ok()) << status;
    return json;
  }
  std::optional<RunInterval> IntervalOfLast() const {
    const LocatedRecord& run = found_.runs.back();
    const auto interval = ReadRunInterval(run.directory, run.record.data().task(),
                                          run.record.results(0), **FindMetric(kAccuracy), 0.95);
    EXPECT_TRUE(interval.ok()) << interval.status();
    return interval.ok() ? *interval : std::nullopt;
  }
  // What a table of that run alone says.
  Interval Cell() const {
    FoundRuns alone;
    alone.runs.push_back(found_.runs.back());
    const auto board = BuildLeaderboard(alone, {}, {});
    EXPECT_TRUE(board.ok()) << board.status();
    return *board->tables.at(0).rows.at(0).cells.at(0)->interval;
  }
};

// The file of the task bytes_lm says that 80 neighbours count as one.
TEST_F(RunIntervalTest, IsThatOfATablesCell) {
  for (const std::string task : {"listops", "bytes_lm"}) {
    Add({.method = "linear", .task = task}, FirstRight(700));
    const std::optional<RunInterval> interval = IntervalOfLast();
    ASSERT_TRUE(interval.has_value()) << task;
    EXPECT_DOUBLE_EQ(interval->interval.low, Cell().low) << task;
    EXPECT_DOUBLE_EQ(interval->interval.high, Cell().high) << task;
  }
  const Interval exact = ClopperPearson(700, 2000, 0.95);
  EXPECT_LT(IntervalOfLast()->interval.low, exact.low - 0.1);
  EXPECT_GT(IntervalOfLast()->interval.high, exact.high + 0.1);
}

TEST_F(RunIntervalTest, TheLineNamesTheBlocks) {
  Add({.method = "linear", .task = "bytes_lm"}, FirstRight(700));
  EXPECT_THAT(*Line(), HasSubstr("35.00 % (700 of 2,000; 95 % interval "));
  EXPECT_THAT(*Line(), HasSubstr(" of 25 blocks of 80 examples, this run)"));
  // Every second one is right: single examples scatter by more than blocks.
  ExampleValues turns(2000);
  for (size_t i = 0; i < turns.size(); i += 2) turns[i] = 1;
  Add({.method = "linear", .task = "bytes_lm"}, turns);
  EXPECT_EQ(*Line(), "50.00 % (1,000 of 2,000; 95 % interval 47.79-52.21, this run)");
}

TEST_F(RunIntervalTest, ProgramsGetItInTheMetricsScale) {
  Add({.method = "linear", .task = "bytes_lm"}, FirstRight(700));
  const nlohmann::json json = Json();
  EXPECT_EQ(json.at("value"), 0.35);
  ASSERT_EQ(json.at("interval").size(), 2u);
  EXPECT_EQ(json["interval"][0], IntervalOfLast()->interval.low);
  EXPECT_EQ(json["interval"][1], IntervalOfLast()->interval.high);
}

TEST_F(RunIntervalTest, ProgramsGetNoneWhereThereIsNone) {
  Add({.method = "linear"}, FirstRight(700));
  SplitResult& result = *found_.runs.back().record.mutable_results(0);
  result.clear_example_scores();
  // More right ones than answers are no share.
  (*result.mutable_sums()->mutable_counts())[kCorrect] = 2001;
  EXPECT_FALSE(Json().contains("interval"));
}

TEST_F(RunIntervalTest, WithoutScoresOfExamplesCountsBoundIt) {
  Add({.method = "linear", .task = "bytes_lm"}, FirstRight(700));
  found_.runs.back().record.mutable_results(0)->clear_example_scores();
  EXPECT_THAT(*Line(), HasSubstr(" of 25 blocks of 80 examples, the widest that counts allow, "));
  EXPECT_DOUBLE_EQ(IntervalOfLast()->interval.low, Cell().low);
  Add({.method = "linear"}, FirstRight(690));
  found_.runs.back().record.mutable_results(0)->clear_example_scores();
  EXPECT_THAT(*Line(), HasSubstr("(690 of 2,000; 95 % interval 32.42-36.63, this run)"));
}

TEST_F(RunIntervalTest, ChangedScoresAreRefused) {
  Add({.method = "linear"}, FirstRight(700));
  const std::string scores = JoinPath(found_.runs.back().directory, "accuracy.npy");
  ASSERT_TRUE(WriteFileAtomically(scores, "other").ok());
  EXPECT_EQ(Line().status().code(), absl::StatusCode::kDataLoss);
  const LocatedRecord& run = found_.runs.back();
  nlohmann::json json;
  EXPECT_EQ(AddScoreWithInterval(**FindMetric(kAccuracy), run.record.results(0),
                                 {run.directory, "listops"}, 0.95, &json)
                .code(),
            absl::StatusCode::kDataLoss);
}

// A mean of 0.5, 1.5, 2.5 and 1.5 nats: 3.18245 standard errors of sqrt(2 / 3 / 4).
TEST_F(RunIntervalTest, NatsHaveTheIntervalOfTheirExamples) {
  ExampleSums sums;
  sums.counts[kTargets] = {1, 1, 1, 1};
  sums.totals[kNats] = {0.5, 1.5, 2.5, 1.5};
  SplitResult result;
  result.set_examples(4);
  *result.mutable_sums() = sums.Total();
  const Metric* const nats = *FindMetric(kNats);
  ASSERT_TRUE(
      StoreExampleScores(folder_.path(), "predictions.npy", {&nats, 1}, sums, &result).ok());
  const auto line = DescribeScoreWithInterval(*nats, result, {folder_.path(), "listops"}, 0.95);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, "1.500 nats (4 targets; 95 % interval 0.201-2.799, this run)");
}

TEST_F(RunIntervalTest, WhatIsNoShareHasNone) {
  Sums sums;
  (*sums.mutable_counts())[kCorrect] = 5;
  (*sums.mutable_counts())[kTargets] = 4;
  const OneRun run{.metric = *FindMetric(kAccuracy), .sums = sums, .examples = 4, .values = {}};
  EXPECT_FALSE(IntervalOfRun(run, 0.95).has_value());
}

}  // namespace
}  // namespace lra
