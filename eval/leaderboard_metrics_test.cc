// Tables of metrics other than accuracy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "eval/error_rate_test_util.h"
#include "eval/leaderboard.h"
#include "eval/leaderboard_test_util.h"
#include "eval/sequences.h"
#include "eval/table_writer.h"

namespace lra {
namespace {

using ::lra::testing::Build;
using ::lra::testing::By;
using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::lra::testing::Methods;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<LocatedRecord> SomeRuns(const std::string& metric) {
  return {By(metric, MakeBaseline("root_operator", 720)), By(metric, MakeBaseline("majority", 340)),
          By(metric, MakeRun({.method = "stuck", .correct = 345})),
          By(metric, MakeRun({.method = "good", .correct = 900})),
          By(metric, MakeRun({.method = "some", .correct = 600}))};
}

// The error rate says the same of every run as accuracy does.
TEST(LeaderboardMetricsTest, OrderAndMarksFollowTheDirection) {
  const LeaderboardTable accuracy = Build(SomeRuns("")).tables.at(0);
  const LeaderboardTable error = Build(SomeRuns(kErrorRate)).tables.at(0);
  EXPECT_THAT(Methods(error), ElementsAre("majority", "root_operator", "good", "some", "stuck"));
  EXPECT_EQ(Methods(accuracy), Methods(error));
  for (size_t r = 0; r < error.rows.size(); ++r) {
    const LeaderboardCell &a = *accuracy.rows[r].cells[0], &e = *error.rows[r].cells[0];
    EXPECT_NEAR(a.value, 1 - e.value, 1e-12);
    EXPECT_EQ(a.interval.has_value(), e.interval.has_value()) << r;
    if (a.interval) {
      EXPECT_NEAR(a.interval->low, 1 - e.interval->high, 1e-9);
    }
    EXPECT_EQ(a.trained, e.trained) << r;
    EXPECT_EQ(a.learned.runs_above, e.learned.runs_above) << r;
    EXPECT_EQ(a.all_runs.has_value(), e.all_runs.has_value()) << r;
    if (a.all_runs && a.trained > 0) {
      EXPECT_NEAR(a.all_runs->interval.low, 1 - e.all_runs->interval.high, 1e-9);
    }
  }
  EXPECT_EQ(error.rows[2].cells[0]->learned.runs_above, 1);
  EXPECT_EQ(error.rows[3].cells[0]->learned.runs_above, 0);
  EXPECT_EQ(error.rows[3].cells[0]->trained, 1);
  EXPECT_EQ(error.rows[4].cells[0]->trained, 0);
}

TEST(LeaderboardMetricsTest, HeadingLegendAndExportsNameTheMetric) {
  const Leaderboard board = Build(SomeRuns(kErrorRate));
  const std::string text = WriteLeaderboard(board, TableFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| listops (error_rate in %, lower is better)"));
  EXPECT_THAT(text, HasSubstr("Error rate in percent on the test split; lower is better."));
  EXPECT_THAT(text, HasSubstr("the step with the best validation error_rate was scored"));
  EXPECT_THAT(text, Not(HasSubstr("ccuracy")));
  EXPECT_THAT(
      WriteLeaderboard(board, TableFormat::kCsv),
      HasSubstr("1,measured,good,good,listops,test,55.0000,52.7887,57.1966,exact binomial"));
  const std::string json = WriteLeaderboard(board, TableFormat::kJson);
  EXPECT_THAT(json,
              AllOf(HasSubstr("\"metric\": \"error_rate\""), HasSubstr("\"error_rate\": 0.55,")));
}

TEST(LeaderboardMetricsTest, UnlikeMetricsShareNoTable) {
  const Leaderboard board = Build({MakeRun({.task = "listops", .correct = 500}),
                                   MakeRun({.task = "text", .correct = 700}),
                                   By(kErrorRate, MakeRun({.task = "image", .correct = 900}))});
  ASSERT_EQ(board.tables.size(), 2u);
  EXPECT_THAT(board.tables[0].tasks, ElementsAre("listops", "text"));
  EXPECT_DOUBLE_EQ(board.tables[0].rows.at(0).average.value(), 0.3);
  EXPECT_THAT(board.tables[1].tasks, ElementsAre("image"));
  EXPECT_EQ(board.tables[1].metric->name(), kErrorRate);
  EXPECT_FALSE(board.tables[1].rows.at(0).average.has_value());
  EXPECT_THAT(board.tables[1].differs, HasSubstr("its metric is error_rate"));
}

TEST(LeaderboardMetricsTest, ABaselineJoinsItsOwnMetricOnly) {
  const Leaderboard board =
      Build({MakeRun({.correct = 900}), By(kErrorRate, MakeBaseline("majority", 340))});
  ASSERT_EQ(board.tables.size(), 2u);
  EXPECT_EQ(board.tables[0].rows.at(0).cells.at(0)->learned.verdict, Verdict::kUnknown);
}

TEST(LeaderboardMetricsTest, AnyMetricOfTheStoredSumsCanBeShown) {
  std::vector<LocatedRecord> runs = {By("", MakeBaseline("majority", 340), 4600),
                                     By("", MakeRun({.method = "sure", .correct = 700}), 5000),
                                     By("", MakeRun({.method = "calm", .correct = 600}), 3000)};
  runs.push_back(By("", MakeRun({.method = "labels", .kind = RunRecord::EXTERNAL}),
                    std::numeric_limits<double>::quiet_NaN()));
  const Leaderboard board = Build(runs, kNats);
  const LeaderboardTable& table = board.tables.at(0);
  EXPECT_THAT(Methods(table), ElementsAre("majority", "calm", "sure"));
  const LeaderboardCell& calm = *table.rows[1].cells[0];
  EXPECT_DOUBLE_EQ(calm.value, 1.5);
  EXPECT_FALSE(calm.interval.has_value());
  EXPECT_FALSE(calm.learned.runs_above.has_value()) << "no scores of examples";
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("1.500 1 run"), HasSubstr("listops (nats, lower is better)")));
  EXPECT_THAT(board.left_out,
              ElementsAre(AllOf(HasSubstr("labels has no value"), HasSubstr("nats"))));
}

// 345 of 2,000 are not above the 340 of the majority class, however sure the run is of them.
TEST(LeaderboardMetricsTest, TheTasksOwnMetricTellsWhichRunsTrained) {
  std::vector<LocatedRecord> runs = {
      By("", MakeBaseline("majority", 340), 4600),
      By("", MakeRun({.method = "half", .seed = 0, .correct = 900}), 3000),
      By("", MakeRun({.method = "half", .seed = 1, .correct = 345}), 3000)};
  const auto expect_one = [&] {
    const Leaderboard board = Build(runs, kNats);
    EXPECT_EQ(board.tables.at(0).rows.back().cells.at(0)->trained, 1);
    EXPECT_THAT(board.tables[0].notes,
                Contains(HasSubstr("half, seed 1, did not train: it is not above the majority")));
  };
  expect_one();
  // Another baseline, without the counts of that metric, has no say.
  runs.push_back(By("", MakeBaseline("root_operator", 720), 4000));
  runs.back().record.mutable_results(0)->mutable_sums()->mutable_counts()->erase(kCorrect);
  expect_one();
}

// Where it is the one shown, and of no run's examples on record, that cannot be told.
TEST(LeaderboardMetricsTest, RunsThatCannotBeJudgedAreSaidToCount) {
  const std::vector<LocatedRecord> runs = {
      By(kNats, MakeBaseline("majority", 340), 4600),
      By(kNats, MakeRun({.method = "half", .correct = 900}), 3000)};
  const LeaderboardTable table = Build(runs).tables.at(0);
  EXPECT_EQ(table.rows.at(1).cells.at(0)->trained, 1);
  EXPECT_THAT(table.notes, Contains("listops: whether runs of half trained cannot be told without "
                                    "scores of examples, so they count as trained."));
}

TEST(LeaderboardMetricsTest, IntervalsOfSeedsAloneAreOfNoBlocks) {
  const std::vector<LocatedRecord> runs = {By("", MakeRun({.task = "text", .seed = 0})),
                                           By("", MakeRun({.task = "text", .seed = 1}))};
  EXPECT_THAT(WriteLeaderboard(Build(runs), TableFormat::kMarkdown),
              HasSubstr("text: neighbouring examples depend on each other"));
  EXPECT_THAT(WriteLeaderboard(Build(runs, kNats), TableFormat::kMarkdown),
              Not(HasSubstr("neighbouring")));
}

// Records of guessed tokens have the counts, whatever scores of examples they keep. The runs'
// values are 50, 55 and 60 %: a deviation of 5, and t of two degrees of freedom is 4.303.
TEST(LeaderboardMetricsTest, TokensThatAreRightCanBeShownOfEveryRecordOfTokens) {
  std::vector<LocatedRecord> runs = {
      MakeRun({.method = "labels", .task = "copy"}),
      MakeRun({.method = "guesser", .task = "copy", .seed = 0, .correct = 1000}),
      MakeRun({.method = "guesser", .task = "copy", .seed = 1, .correct = 1100}),
      MakeRun({.method = "guesser", .task = "copy", .seed = 2, .correct = 1200})};
  for (size_t i = 1; i < runs.size(); ++i)
    (*runs[i].record.mutable_results(0)->mutable_sums()->mutable_counts())[kTokens] = 2000;
  const Leaderboard board = Build(runs, "token_accuracy");
  const LeaderboardCell& cell = board.tables.at(0).rows.at(0).cells.at(0).value();
  EXPECT_DOUBLE_EQ(cell.value, 0.55);
  EXPECT_EQ(cell.trained, 3);
  EXPECT_EQ(cell.basis, Basis::kSeeds);
  EXPECT_NEAR(cell.interval->high, 0.55 + 4.303 * 0.05 / std::sqrt(3), 1e-4);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("copy (token_accuracy in %, higher is better)"),
                    HasSubstr("Tokens that were guessed rightly, in percent, on the test split.")));
  EXPECT_THAT(board.left_out, ElementsAre(HasSubstr("token_accuracy needs tokens")));
}

// 500 of 2,000 sequences are right as a whole; a record from before they were counted says nothing
// of them, and its table by its own metric is as it was.
TEST(LeaderboardMetricsTest, SequencesAreShownOfRecordsThatCountThem) {
  std::vector<LocatedRecord> runs = {By(kNats, MakeRun({.method = "older", .task = "copy"})),
                                     By(kNats, MakeRun({.method = "newer", .task = "copy"}))};
  auto& counts = *runs[1].record.mutable_results(0)->mutable_sums()->mutable_counts();
  const std::string before = WriteLeaderboard(Build(runs), TableFormat::kJson);
  counts[kSequences] = 2000;
  counts[kExactSequences] = 500;
  EXPECT_EQ(WriteLeaderboard(Build(runs), TableFormat::kJson), before);
  const Leaderboard board = Build(runs, kSequenceAccuracy);
  ASSERT_EQ(board.tables.at(0).rows.size(), 1u);
  const LeaderboardCell& cell = board.tables.at(0).rows.at(0).cells.at(0).value();
  EXPECT_EQ(cell.value, 0.25);
  EXPECT_EQ(cell.method, "exact binomial");
  EXPECT_THAT(board.left_out,
              ElementsAre(AllOf(HasSubstr("older has no value"),
                                HasSubstr("sequence_accuracy needs exact and sequences"))));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("copy (sequence_accuracy in %, higher is better)"));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kJson),
              HasSubstr("\"sequence_accuracy\": 0.25"));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kCsv), HasSubstr(",sequence_accuracy,%,"));
}

// Guessing gets no sequence right as a whole, nor do runs that learned most of every one.
TEST(LeaderboardMetricsTest, ARunWithoutAWholeSequenceHasNotFailed) {
  std::vector<LocatedRecord> runs = {By(kNats, MakeBaseline("unigram", 200, "copy"))};
  for (uint32_t seed = 0; seed < 3; ++seed)
    runs.push_back(By(kNats, MakeRun({.method = "some", .task = "copy", .seed = seed})));
  for (LocatedRecord& run : runs) {
    auto& counts = *run.record.mutable_results(0)->mutable_sums()->mutable_counts();
    counts[kSequences] = 2000;
    counts[kExactSequences] = 0;
  }
  LocatedRecord diverged = By(kNats, MakeRun({.method = "lost", .task = "copy"}));
  diverged.record.clear_results();
  diverged.record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  runs.push_back(diverged);
  const Leaderboard board = Build(runs, kSequenceAccuracy);
  const LeaderboardTable& table = board.tables.at(0);
  ASSERT_THAT(Methods(table), UnorderedElementsAre("unigram", "some", "lost"));
  for (const LeaderboardRow& row : table.rows) {
    const LeaderboardCell& cell = row.cells.at(0).value();
    EXPECT_EQ(cell.trained, row.method == "lost" ? 0 : cell.runs()) << row.method;
    if (row.method != "some") continue;
    EXPECT_EQ(cell.value, 0);
    EXPECT_EQ(cell.interval->low, 0);
    EXPECT_NEAR(cell.interval->high, 1 - std::pow(0.025, 1.0 / 2000), 1e-9);
    EXPECT_EQ(cell.learned.runs_above, 0);
  }
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("| FAIL 0/1 "), HasSubstr("| 0.000 [0.000, 0.184] (counts); 0/3 "),
                    HasSubstr("sequence_accuracy does not tell which runs trained"),
                    Not(HasSubstr("did not train")), Not(HasSubstr("nor is it known"))));
}

// Values of 0.001, 0.002 and 0.009 nats: a mean of 0.004, a deviation of the square root of 19e-6,
// and t of two degrees of freedom, 4.303, give a half width of 0.01083. Differences may be
// negative.
TEST(LeaderboardMetricsTest, NoRowsIntervalHoldsNegativeNats) {
  std::vector<LocatedRecord> runs;
  for (const double nats : {2.0, 4.0, 18.0}) {
    const auto seed = static_cast<uint32_t>(runs.size());
    runs.push_back(By("", MakeRun({.method = "near", .seed = seed}), nats));
    runs.push_back(By("", MakeRun({.method = "nearer", .seed = seed}), nats / 2));
  }
  const Leaderboard board = Build(runs, kNats);
  const LeaderboardTable& table = board.tables.at(0);
  ASSERT_THAT(Methods(table), ElementsAre("nearer", "near"));
  const LeaderboardCell& near = *table.rows[1].cells[0];
  EXPECT_NEAR(near.value, 0.004, 1e-12);
  EXPECT_EQ(near.interval->low, 0);
  EXPECT_NEAR(near.interval->high, 0.004 + 0.01083, 1e-5);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("0.0040 [0.0000, 0.0148] "));
  EXPECT_LT(table.comparisons.at(0).difference.interval.low, -0.01);
}

// The mean over two tasks, and that over all runs, are values, too.
TEST(LeaderboardMetricsTest, NoMeanOfNatsHasANegativeLimit) {
  std::vector<LocatedRecord> runs = {By("", MakeBaseline("majority", 340), 8)};
  for (const double nats : {0.0, 0.0, 18.0}) {
    const auto seed = static_cast<uint32_t>(runs.size());
    runs.push_back(By("", MakeRun({.method = "near", .seed = seed}), nats));
    runs.push_back(By("", MakeRun({.method = "near", .task = "text", .seed = seed}), nats));
  }
  LocatedRecord diverged = By("", MakeRun({.method = "near", .seed = 99}));
  diverged.record.clear_results();
  diverged.record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  runs.push_back(diverged);
  const LeaderboardTable table = Build(runs, kNats).tables.at(0);
  const LeaderboardRow& row = table.rows.back();
  ASSERT_EQ(row.method, "near");
  ASSERT_TRUE(row.cells.at(0)->all_runs.has_value());
  EXPECT_EQ(row.cells[0]->all_runs->interval.low, 0);
  EXPECT_EQ(row.average_interval->low, 0);
  EXPECT_GT(row.average_interval->high, *row.average);
}

// One trained run without scores of examples has no interval, but a mean over all runs.
TEST(LeaderboardMetricsTest, AllRunsOfARunWithoutAnIntervalAreItsValueAndGuessing) {
  LocatedRecord diverged = By("", MakeRun({.method = "frail", .seed = 1}));
  diverged.record.clear_results();
  diverged.record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  const Leaderboard board = Build(
      {By("", MakeBaseline("majority", 340), 4600), By("", MakeRun({.method = "frail"}), 3000),
       diverged, By("", MakeRun({.method = "sound"}), 3400)},
      kNats);
  const LeaderboardTable& table = board.tables.at(0);
  EXPECT_THAT(Methods(table), ElementsAre("majority", "sound", "frail"));
  const LeaderboardCell &sound = *table.rows[1].cells[0], &frail = *table.rows[2].cells[0];
  EXPECT_DOUBLE_EQ(sound.all_runs->mean, 1.7);
  EXPECT_NEAR(frail.all_runs->mean, 2.3 + 0.5 * (1.5 - 2.3), 1e-12);
  EXPECT_TRUE(std::isnan(frail.all_runs->interval.low));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("1.500 1/2 1 run; all runs 1.900 "));
}

TEST(LeaderboardMetricsTest, UnknownMetricsAreNamed) {
  const Leaderboard board = Build({MakeRun({}), By("elo", MakeRun({.method = "other"}))});
  EXPECT_THAT(board.left_out,
              ElementsAre(AllOf(HasSubstr("other has no value"), HasSubstr("elo"))));
  const Leaderboard tokens = Build({MakeRun({}), By(kBitsPerToken, MakeRun({.method = "other"}))});
  EXPECT_THAT(tokens.left_out, ElementsAre(HasSubstr("bits_per_token needs tokens")));
  LeaderboardOptions options;
  options.metric = "elo";
  EXPECT_EQ(BuildLeaderboard({{MakeRun({})}, {}}, {}, options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lra
