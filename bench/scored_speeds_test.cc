#include "bench/scored_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/gnuplot.h"
#include "bench/picture_test_util.h"
#include "eval/metric.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::ExpectPictures;
using ::testing::HasSubstr;
using ::testing::SizeIs;

BenchRecord TimedCell(const std::string& attention, int64_t tokens, double seconds, int64_t bytes) {
  BenchRecord record;
  record.mutable_request()->set_scope(BenchRequest::STEP);
  record.mutable_request()->set_mode(BenchRequest::FORWARD);
  record.mutable_request()->set_attention(attention);
  record.mutable_request()->set_tokens(tokens);
  record.mutable_result()->set_outcome(BenchResult::MEASURED);
  record.mutable_result()->mutable_passes()->add_seconds(seconds);
  record.mutable_result()->mutable_passes()->set_peak_bytes(bytes);
  return record;
}

LeaderboardRow AverageRow(const std::string& method, std::optional<double> average) {
  LeaderboardRow row;
  row.method = row.label = method;
  row.cells.resize(2);
  row.average = average;
  if (average) row.average_interval = Interval{*average - 0.02, *average + 0.02};
  return row;
}

Leaderboard ScoredBoard() {
  LeaderboardTable table;
  table.metric = *FindMetric(kAccuracy);
  table.tasks = {"listops", "text"};
  table.rows = {AverageRow("linear", 0.5), AverageRow("transformer", 0.6),
                AverageRow("relu", std::nullopt), AverageRow("performer", 0.7)};
  table.rows.push_back(AverageRow("majority", 0.2));
  table.rows.back().kind = RunRecord::BASELINE;
  Leaderboard board;
  board.tables.push_back(table);
  return board;
}

// Softmax has no cell at 4,000: what all have is 2,000.
std::vector<BenchRecord> TimedCells() {
  return {TimedCell("transformer", 1000, 0.1, 100'000'000),
          TimedCell("transformer", 2000, 0.4, 400'000'000),
          TimedCell("linear", 2000, 0.1, 50'000'000),
          TimedCell("linear", 4000, 0.2, 100'000'000),
          TimedCell("relu", 2000, 0.1, 50'000'000),
          TimedCell("majority", 2000, 0.1, 1)};
}

TEST(ScoreSpeeds, SetsAveragesBesideSpeedsAtTheLongestLengthThatAllHave) {
  const auto scored = ScoreSpeeds(GroupPanels(TimedCells())[0], ScoredBoard());
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_EQ(scored->tokens, 2000);
  EXPECT_EQ(scored->score_title, "accuracy, mean over listops, text");
  ASSERT_THAT(scored->methods, SizeIs(2)) << "relu has no average, performer no speed";
  EXPECT_EQ(scored->methods[0].label, "transformer");
  EXPECT_DOUBLE_EQ(scored->methods[0].score, 60);
  EXPECT_DOUBLE_EQ(scored->methods[0].interval->low, 58);
  EXPECT_DOUBLE_EQ(scored->methods[1].per_second, 10);
  EXPECT_DOUBLE_EQ(scored->methods[1].megabytes, 50);
}

// Where no run learned a task, the average has none.
TEST(ScoreSpeeds, AnAverageWithoutAnIntervalStaysOne) {
  Leaderboard board = ScoredBoard();
  board.tables[0].rows[0].average_interval.reset();
  const auto scored = ScoreSpeeds(GroupPanels(TimedCells())[0], board);
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_EQ(ScoredSpeedsTable(*scored, "transformer").rows[1][1], "50.0");
  EXPECT_THAT(ScoredSpeedsProgram(*scored, "a"), HasSubstr("10 50 50 50\n"));
}

TEST(ScoreSpeeds, LowBitsComeFirst) {
  Leaderboard board = ScoredBoard();
  board.tables[0].metric = *FindMetric(kBitsPerToken);
  const auto scored = ScoreSpeeds(GroupPanels(TimedCells())[0], board);
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_EQ(scored->methods[0].label, "linear");
}

// With one task there is no average: the cell counts, with its interval where no run failed.
TEST(ScoreSpeeds, OneTaskHasItsOwnScore) {
  Leaderboard board = ScoredBoard();
  LeaderboardTable& table = board.tables[0];
  table.tasks = {"text"};
  for (LeaderboardRow& row : table.rows) {
    row.average.reset();
    row.cells.resize(1);
    row.cells[0].emplace();
    row.cells[0]->value = row.method == "linear" ? 0.6 : 0.5;
    row.cells[0]->interval = Interval{0.4, 0.7};
  }
  table.rows[0].cells[0]->all_runs = MeanOfAll{.mean = 0.55};
  const auto scored = ScoreSpeeds(GroupPanels(TimedCells())[0], board);
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_EQ(scored->score_title, "accuracy on text");
  ASSERT_THAT(scored->methods, SizeIs(3));
  EXPECT_EQ(scored->methods[0].label, "linear");
  EXPECT_DOUBLE_EQ(scored->methods[0].score, 55);
  EXPECT_FALSE(scored->methods[0].interval.has_value());
  EXPECT_TRUE(scored->methods[1].interval.has_value());
}

TEST(ScoreSpeeds, ScoresInUnlikeUnitsHaveNoMean) {
  TaskSpec pixels, bytes;
  pixels.set_content(TaskSpec::GREY_IMAGE);
  bytes.set_content(TaskSpec::TEXT);
  bytes.set_vocabulary_size(257);
  Leaderboard board = ScoredBoard();
  board.tables[0].metrics = {*MetricOf(pixels, kBitsPerToken), *MetricOf(bytes, kBitsPerToken)};
  for (LeaderboardRow& row : board.tables[0].rows) row.average.reset();
  const auto scored = ScoreSpeeds(GroupPanels(TimedCells())[0], board);
  EXPECT_TRUE(absl::IsFailedPrecondition(scored.status())) << scored.status();
  EXPECT_EQ(scored.status().message(),
            "scores on listops, text have no mean: their units differ (bits/byte, bits/dim); give "
            "runs of tasks of one unit");
}

TEST(ScoreSpeeds, SaysWhereNothingMatches) {
  const auto scored =
      ScoreSpeeds(GroupPanels({TimedCell("cosformer", 1000, 1, 1)})[0], ScoredBoard());
  EXPECT_TRUE(absl::IsNotFound(scored.status())) << scored.status();
}

TEST(ScoredSpeedsTable, HasRatiosOverTheReference) {
  const TextTable table =
      ScoredSpeedsTable(*ScoreSpeeds(GroupPanels(TimedCells())[0], ScoredBoard()), "transformer");
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[1],
            (std::vector<std::string>{"linear", "50.0 [48.0, 52.0]", "10.00", "4.00", "50"}));
}

TEST(ScoredSpeedsProgram, DrawsMemoryAsArea) {
  const std::string program =
      ScoredSpeedsProgram(*ScoreSpeeds(GroupPanels(TimedCells())[0], ScoredBoard()), "a");
  EXPECT_THAT(program, HasSubstr("$method1 << END\n2.5 60 58 62\nEND"));
  EXPECT_THAT(program, HasSubstr("$method1 using 1:2 with points lc rgb '#990072b2' pt 7 ps 9,"));
  EXPECT_THAT(program,
              HasSubstr("$method2 using 1:2 with points lc rgb '#99d55e00' pt 7 ps 3.18,"));
}

TEST(ScoredSpeedsProgram, AColumnHasNamesBelow) {
  const std::string program =
      ScoredSpeedsProgram(*ScoreSpeeds(GroupPanels(TimedCells())[0], ScoredBoard()), "a");
  EXPECT_THAT(program, HasSubstr("set xlabel 'passes a second at N = 2000'.\"\\n\"."
                                 "'discs: memory, the largest 400 MB'"));
  EXPECT_THAT(program, HasSubstr("$method1 using 1:2 with points lc rgb '#990072b2' pt 7 ps 3.6,"));
  EXPECT_THAT(program, HasSubstr("plot NaN with points lt 1 ps 0.5 title 'transformer', NaN with "
                                 "points lt 2 ps 0.5 title 'linear'\n"));
}

TEST(ScoredSpeedsProgram, IsDrawn) {
  const TestFolder folder;
  const ScoredSpeeds scored = *ScoreSpeeds(GroupPanels(TimedCells())[0], ScoredBoard());
  const auto drawn =
      DrawPictures({[&](const std::string& stem) { return ScoredSpeedsProgram(scored, stem); }},
                   folder.File("a"));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  ExpectPictures(folder.File("a-1"));
}

}  // namespace
}  // namespace lra
