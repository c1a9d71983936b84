// The statistics of a table, from records with scores of examples on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "eval/crossed_test_util.h"
#include "eval/leaderboard.h"
#include "eval/scored_runs_test_util.h"
#include "eval/table_paper.h"
#include "eval/table_writer.h"
#include "lra/files.h"

namespace lra {
namespace {

using ::lra::testing::FirstRight;
using ::lra::testing::MakeRun;
using ::lra::testing::RunsOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LeaderboardStatisticsTest : public ::lra::testing::ScoredRuns {
 protected:
  Leaderboard Build() {
    const auto board = BuildLeaderboard(found_, {}, {});
    EXPECT_TRUE(board.ok()) << board.status();
    return board.ok() ? *board : Leaderboard();
  }
  static const LeaderboardCell& Cell(const Leaderboard& board, const std::string& method) {
    for (const LeaderboardRow& row : board.tables.at(0).rows) {
      if (row.method == method) return *row.cells.at(0);
    }
    ADD_FAILURE() << "no row " << method;
    static const LeaderboardCell& none = *new LeaderboardCell;
    return none;
  }
};

// A majority class that is right on a fixed 20 % and so beaten by every run of data set P.
ExampleValues Majority() {
  ExampleValues values(2000);
  for (size_t i = 0; i < values.size(); i += 5) values[i] = 1;
  return values;
}

TEST_F(LeaderboardStatisticsTest, CellsHaveTheGoldenInterval) {
  AddRow("a", RunsOf('A'));
  const LeaderboardCell cell = Cell(Build(), "a");
  EXPECT_EQ(cell.method, "crossed");
  EXPECT_NEAR(cell.interval->low, 0.36215271, 5e-9);
  EXPECT_NEAR(cell.interval->high, 0.40823272, 5e-9);
  EXPECT_NEAR(cell.moments->msb, 0.66065533, 5e-9);
  EXPECT_THAT(WriteLeaderboard(Build(), TableFormat::kMarkdown),
              HasSubstr("| 38.5 [36.2, 40.8] |"));
}

TEST_F(LeaderboardStatisticsTest, LetterSharingRowsCouldNotBeToldApart) {
  AddRow("a", RunsOf('A'));
  AddRow("b", RunsOf('B'));
  AddRow("far", std::vector<ExampleValues>(3, FirstRight(400)));
  Add({.method = "single"}, FirstRight(1900));
  const Leaderboard board = Build();
  // The golden unpaired p of a and b, 0.082, is the largest of three.
  EXPECT_EQ(Cell(board, "a").letters, "a");
  EXPECT_EQ(Cell(board, "b").letters, "a");
  EXPECT_EQ(Cell(board, "far").letters, "b");
  EXPECT_EQ(Cell(board, "single").letters, "");
  const auto& comparisons = board.tables[0].comparisons;
  ASSERT_EQ(comparisons.size(), 3u);
  EXPECT_EQ(comparisons[0].a, "a");
  EXPECT_EQ(comparisons[0].b, "b");
  EXPECT_NEAR(comparisons[0].difference.p, 0.082462385, 5e-10);
  EXPECT_NEAR(comparisons[0].corrected_p, 0.082462385, 5e-10);
  EXPECT_FALSE(comparisons[0].is_told_apart);
  EXPECT_TRUE(comparisons[1].is_told_apart);
  const std::string json = WriteLeaderboard(board, TableFormat::kJson);
  EXPECT_THAT(json, AllOf(HasSubstr("\"p_corrected\": 0.0824"), HasSubstr("\"letters\": \"b\"")));
}

TEST_F(LeaderboardStatisticsTest, LearnedNeedsTheMeanAndTheRuns) {
  AddBaseline("majority", Majority());
  AddBaseline("shortcut", RunsOf('Z')[0]);
  AddRow("a", RunsOf('A'));
  AddRow("c", RunsOf('C'));
  Add({.method = "single"}, FirstRight(1900));
  const Leaderboard board = Build();
  const LearnedCell &a = Cell(board, "a").learned, &c = Cell(board, "c").learned;
  EXPECT_EQ(a.verdict, Verdict::kYes);
  EXPECT_NEAR(a.p.value(), 0.0013957493, 5e-11);
  EXPECT_NEAR(a.corrected_p.value(), 2 * 0.0013957493, 1e-10);
  EXPECT_EQ(a.runs_above, 3);
  EXPECT_EQ(c.verdict, Verdict::kNo);
  EXPECT_EQ(c.runs_above, 2);
  const LearnedCell& single = Cell(board, "single").learned;
  EXPECT_EQ(single.verdict, Verdict::kNo) << "fewer seeds are no advantage";
  EXPECT_EQ(single.runs_above, 1);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("a; learned, 3/3 above; beats shortcut |"),
                    HasSubstr("a; 2/3 above "), HasSubstr("1 run; 1/1 above; beats shortcut ")));
}

TEST_F(LeaderboardStatisticsTest, FailedRunsAreCountedAndTheColumnShowsAllRuns) {
  AddBaseline("majority", FirstRight(1000));
  std::vector<ExampleValues> trained = {FirstRight(1440), FirstRight(1400), FirstRight(1480)};
  AddRow("sound", trained);
  ExampleValues guess = FirstRight(1010);  // not above the majority class
  std::reverse(guess.begin(), guess.end());
  trained.push_back(guess);
  AddRow("frail", trained);
  AddDiverged("frail", 4);
  AddDiverged("lost", 0);
  AddDiverged("lost", 1);
  const Leaderboard board = Build();
  const LeaderboardCell frail = Cell(board, "frail"), sound = Cell(board, "sound");
  EXPECT_NEAR(frail.value, 0.72, 1e-12);
  EXPECT_EQ(frail.trained, 3);
  EXPECT_EQ(frail.runs(), 5);
  EXPECT_NEAR(frail.all_runs->mean, 0.5 + 0.6 * 0.22, 1e-12);
  EXPECT_LT(frail.all_runs->interval.low, 0.56);
  EXPECT_NEAR(sound.all_runs->mean, 0.72, 1e-12);
  EXPECT_NEAR(sound.interval->low, frail.interval->low, 1e-12);
  // Three of three allow many failures, too.
  EXPECT_LT(sound.all_runs->interval.low, sound.interval->low - 0.05);
  EXPECT_EQ(board.tables[0].rows[1].method, "sound");
  EXPECT_DOUBLE_EQ(board.tables[0].comparisons.at(0).learn_rate_p.value(), 26.0 / 56);
  const std::string text = WriteLeaderboard(board, TableFormat::kMarkdown);
  EXPECT_THAT(text, AllOf(HasSubstr("a 3/5; "), HasSubstr("; all runs 63.2 [52.8, 71.4]"),
                          HasSubstr("| FAIL 0/2 "), HasSubstr("FAIL: none did")));
  EXPECT_THAT(text,
              AllOf(HasSubstr("frail, seed 4, diverged at step 120: the loss is nan"),
                    HasSubstr("frail, seed 3, did not train"), Not(HasSubstr("frail, seed 2"))));
}

TEST_F(LeaderboardStatisticsTest, AColumnOfFailedRunsStandsBesideItsBaselines) {
  AddBaseline("majority", FirstRight(1000));
  AddDiverged("lost", 0);
  const Leaderboard board = Build();
  ASSERT_EQ(board.tables.size(), 1u);
  EXPECT_EQ(board.tables[0].rows.size(), 2u);
  EXPECT_EQ(Cell(board, "lost").trained, 0);
  EXPECT_TRUE(std::isnan(Cell(board, "lost").value));
  EXPECT_EQ(Cell(board, "lost").all_runs->mean, 0.5);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown), HasSubstr("| FAIL 0/1 "));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kJson), HasSubstr("\"accuracy\": null"));
}

TEST_F(LeaderboardStatisticsTest, AFailedRunStaysAFailureWhateverItScored) {
  AddRow("a", RunsOf('A'));
  found_.runs[1].record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  const LeaderboardCell cell = Cell(Build(), "a");
  EXPECT_EQ(cell.trained, 2);
  EXPECT_EQ(cell.runs(), 3);
  EXPECT_FALSE(cell.all_runs.has_value()) << "what guessing scores is not on record";
  found_.runs[2].record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  EXPECT_THAT(WriteLeaderboard(Build(), TableFormat::kMarkdown),
              HasSubstr("| 38.0 [35.9, 40.2] 1/3 1 run |"));
}

// What a failed run counts for is the majority class's score. Without it the survivors would win.
TEST_F(LeaderboardStatisticsTest, SurvivorsAreNotRankedWithoutAMajorityClass) {
  Add({.method = "frail"}, FirstRight(1900));
  AddDiverged("frail", 1);
  AddRow("sound", RunsOf('B'));
  for (const std::string method : {"frail", "sound"}) {
    for (uint32_t s = 0; s < 2; ++s)
      Add({.method = method, .task = "image", .seed = s}, FirstRight(900));
  }
  Leaderboard board = Build();
  const LeaderboardTable& table = board.tables.at(0);
  ASSERT_EQ(table.rows.size(), 2u);
  const LeaderboardRow &first = table.rows[0], &last = table.rows[1];
  EXPECT_EQ(first.method, "sound");
  EXPECT_TRUE(first.average.has_value());
  EXPECT_EQ(last.method, "frail");
  EXPECT_FALSE(last.average.has_value());
  EXPECT_EQ(last.missing_tasks.size(), 0u);
  EXPECT_EQ(last.unranked_tasks, std::vector<std::string>{"listops"});
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("listops: no majority class is on record (`lra baseline listops`), so "
                        "every scored run counts as trained; nor is it known what a failed run "
                        "counts for, so rows with some (frail) stand behind the others and have "
                        "no average."));
  EXPECT_THAT(WritePaperTables(board), HasSubstr("frail & 95.00"));  // not bold
  AddBaseline("majority", FirstRight(400));
  Add({.method = "majority", .task = "image", .kind = RunRecord::BASELINE}, FirstRight(400));
  board = Build();
  for (const LeaderboardRow& row : board.tables.at(0).rows)
    EXPECT_TRUE(row.average.has_value()) << row.method;
}

TEST_F(LeaderboardStatisticsTest, RunsOfAnotherNumberOfExamplesAreLeftOut) {
  AddRow("a", RunsOf('A'));
  Add({.method = "a", .seed = 7}, FirstRight(20, 50));
  const Leaderboard board = Build();
  EXPECT_EQ(Cell(board, "a").runs(), 3);
  EXPECT_NEAR(Cell(board, "a").interval->low, 0.36215271, 5e-9);
  ASSERT_EQ(board.left_out.size(), 1u);
  EXPECT_EQ(board.left_out[0],
            found_.runs[3].directory +
                ": record.textproto has 50 test examples, those of other runs of its cell have "
                "2,000; it is not counted");
}

TEST_F(LeaderboardStatisticsTest, StoppedRunsAreMissingAndNotCounted) {
  AddRow("a", RunsOf('A'));
  LocatedRecord stopped = MakeRun({.method = "a", .seed = 7});
  stopped.record.clear_results();
  found_.stopped.push_back(stopped);
  stopped.record.set_method("b");
  stopped.record.mutable_config()->mutable_attention()->set_name("b");
  found_.stopped.push_back(stopped);
  const Leaderboard board = Build();
  EXPECT_EQ(Cell(board, "a").missing, 1);
  EXPECT_EQ(Cell(board, "a").runs(), 3);
  EXPECT_EQ(Cell(board, "b").runs(), 0);
  const std::string text = WriteLeaderboard(board, TableFormat::kMarkdown);
  EXPECT_THAT(text,
              AllOf(HasSubstr("38.5 [36.2, 40.8]; 1 missing |"), HasSubstr("| missing (1) ")));
  EXPECT_THAT(text, HasSubstr("a, seed 7, is missing: it was stopped or is still going."));
}

TEST_F(LeaderboardStatisticsTest, AveragesHaveAnInterval) {
  AddRow("a", RunsOf('A'));
  for (uint32_t s = 0; s < 3; ++s) Add({.method = "a", .task = "image", .seed = s}, RunsOf('B')[s]);
  const LeaderboardRow row = Build().tables.at(0).rows.at(0);
  const Estimate a = EstimateOf(MomentsOf(SumsOf(RunsOf('A'))));
  const Estimate b = EstimateOf(MomentsOf(SumsOf(RunsOf('B'))));
  EXPECT_NEAR(row.average.value(), (a.mean + b.mean) / 2, 1e-12);
  const std::vector<TaskPart> parts = {{a, {}}, {b, {}}};
  EXPECT_NEAR(row.average_interval->low, AverageOverTasks(parts, 0.95).interval.low, 1e-12);
  EXPECT_FALSE(row.average_has_single_runs);
  EXPECT_THAT(WriteLeaderboard(Build(), TableFormat::kCsv), HasSubstr(",average,0.95,"));
}

TEST_F(LeaderboardStatisticsTest, AveragesOfSingleRunsAreMarkedForPrograms) {
  Add({.method = "a"}, RunsOf('A')[0]);
  Add({.method = "a", .task = "image"}, RunsOf('B')[0]);
  const Leaderboard board = Build();
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kCsv),
              HasSubstr(",average with cells of one run,0.95,"));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kJson),
              HasSubstr("\"average_has_single_runs\": true"));
}

TEST_F(LeaderboardStatisticsTest, CountsAloneGiveWiderIntervalsAndSaySo) {
  AddRow("a", RunsOf('A'));
  const LeaderboardCell known = Cell(Build(), "a");
  for (LocatedRecord& run : found_.runs) run.record.mutable_results(0)->clear_example_scores();
  const Leaderboard board = Build();
  const LeaderboardCell bounded = Cell(board, "a");
  EXPECT_EQ(bounded.method, "crossed, bounded by counts");
  EXPECT_DOUBLE_EQ(bounded.value, known.value);
  EXPECT_LE(bounded.interval->low, known.interval->low);
  EXPECT_GE(bounded.interval->high, known.interval->high);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("(counts)"), HasSubstr("not on record for a;")));
}

// The file of the task bytes_lm says that blocks of 80 take the place of examples.
TEST_F(LeaderboardStatisticsTest, NeighboursThatDependOnEachOtherCountInBlocks) {
  for (uint32_t s = 0; s < 3; ++s) {
    Add({.method = "a", .seed = s}, RunsOf('A')[s]);
    Add({.method = "a", .task = "bytes_lm", .seed = s}, RunsOf('A')[s]);
  }
  const Leaderboard board = Build();
  const LeaderboardTable& table = board.tables.at(0);
  ASSERT_THAT(table.tasks, ::testing::ElementsAre("listops", "bytes_lm"));
  const LeaderboardCell& plain = *table.rows.at(0).cells.at(0);
  const LeaderboardCell& blocks = *table.rows[0].cells.at(1);
  EXPECT_DOUBLE_EQ(plain.interval->low, ProportionInterval(*plain.moments, 0.95).low);
  EXPECT_NEAR(plain.interval->low, 0.36215271, 5e-9);
  const Interval expected = ProportionInterval(MomentsOf(SumsOf(RunsOf('A'), 80)), 0.95);
  EXPECT_EQ(blocks.moments->blocks, 25);
  EXPECT_DOUBLE_EQ(blocks.interval->low, expected.low);
  EXPECT_DOUBLE_EQ(blocks.interval->high, expected.high);
  EXPECT_LT(blocks.interval->low, plain.interval->low);
  EXPECT_GT(blocks.interval->high, plain.interval->high);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("bytes_lm: neighbouring examples depend on each other; intervals and "
                              "p are of 25 blocks of 80 examples, or of "
                              "single examples where these scatter by more."),
                    Not(HasSubstr("listops: neighbouring"))));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kJson), HasSubstr("\"blocks\": 25"));
}

TEST_F(LeaderboardStatisticsTest, TooFewExamplesForBlocksAreSaidToBeSo) {
  Add({.method = "a", .task = "bytes_lm"}, FirstRight(30, 80));
  const Leaderboard board = Build();
  const Interval exact = ClopperPearson(30, 80, 0.95);
  EXPECT_NEAR(Cell(board, "a").interval->low, exact.low, 1e-9);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("they are too few for two blocks of 80, and intervals, which take each by "
                        "itself, are too narrow."));
}

TEST_F(LeaderboardStatisticsTest, ChangedScoresAreRefused) {
  AddRow("a", RunsOf('A'));
  const std::string path = JoinPath(found_.runs[2].directory, "accuracy.npy");
  std::string bytes = *ReadFile(path);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  const auto board = BuildLeaderboard(found_, {}, {});
  EXPECT_EQ(board.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(board.status().message()),
              ::testing::AllOf(HasSubstr(path + ": was changed"),
                               HasSubstr("put back a copy of the file, or move " +
                                         found_.runs[2].directory + " out of the folders")));
}

}  // namespace
}  // namespace lra
