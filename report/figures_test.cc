#include "report/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "bench/picture_test_util.h"
#include "eval/leaderboard_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::ExpectPictures;
using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::lra::testing::RunSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LocatedRecord Trained(const RunSpec& spec, double validation) {
  LocatedRecord located = MakeRun(spec);
  located.record.mutable_efficiency()->set_wall_seconds(1800);
  for (const int step : {10, 20}) {
    CurvePoint* point = located.record.add_curve();
    point->set_step(step);
    (*point->mutable_validation())["accuracy"] = validation * step / 10;
  }
  return located;
}

FoundRuns Runs() {
  return {.runs = {MakeBaseline("majority", 340), Trained({.seed = 0, .correct = 700}, 0.1),
                   Trained({.seed = 1, .correct = 720}, 0.2)},
          .unfinished = {}};
}

TEST(FiguresTest, ScoresHaveTheirIntervals) {
  const FoundRuns runs = Runs();
  const auto board = BuildLeaderboard(runs, {}, {});
  ASSERT_TRUE(board.ok());
  const std::string program =
      FigureProgram(FigureKind::kScores, board->tables[0], 0, runs.runs, "out/a");
  EXPECT_THAT(program, HasSubstr("$measured << END\n35.5 29.15957"));
  EXPECT_THAT(program, HasSubstr("$others << END\n17 15.37804"));
  EXPECT_THAT(program, HasSubstr("set ytics ('majority' 0, 'linear' 1)"));
  for (const char* end : {"'out/a.svg'", "'out/a.pdf'", "'out/a.png'"})
    EXPECT_THAT(program, HasSubstr(end));
}

// At step 10 the seeds have 10 and 20 %, at step 20 twice as much.
TEST(FiguresTest, CurvesAreMeansWithBands) {
  const FoundRuns runs = Runs();
  const auto board = BuildLeaderboard(runs, {}, {});
  ASSERT_TRUE(board.ok());
  EXPECT_THAT(FigureProgram(FigureKind::kCurves, board->tables[0], 0, runs.runs, "a"),
              HasSubstr("$curve1 << END\n10 15 10 20\n20 30 20 40\nEND\n"));
}

TEST(FiguresTest, TitlesNameTheUnitOnce) {
  const auto title = [](const std::string& metric) {
    FoundRuns runs = Runs();
    for (LocatedRecord& run : runs.runs) {
      (*run.record.mutable_results(0)->mutable_sums()->mutable_totals())[kNats] = 3000;
      for (CurvePoint& point : *run.record.mutable_curve())
        (*point.mutable_validation())[kNats] = 2;
    }
    LeaderboardOptions options;
    options.metric = metric;
    const auto board = BuildLeaderboard(runs, {}, options);
    EXPECT_TRUE(board.ok()) << board.status();
    return FigureProgram(FigureKind::kCurves, board->tables[0], 0, runs.runs, "a");
  };
  EXPECT_THAT(title(kAccuracy), HasSubstr("set title 'validation: listops, accuracy in %'\n"));
  EXPECT_THAT(title(kNats), HasSubstr("set title 'validation: listops, nats'\n"));
}

TEST(FiguresTest, CostIsInCoreHours) {
  FoundRuns runs = Runs();
  auto board = BuildLeaderboard(runs, {}, {});
  ASSERT_TRUE(board.ok());
  EXPECT_THAT(FigureProgram(FigureKind::kCost, board->tables[0], 0, runs.runs, "a"),
              HasSubstr("$row1 << END\n0.5 35.5 29.15957"));
  for (LocatedRecord& run : runs.runs) run.record.clear_efficiency();
  board = BuildLeaderboard(runs, {}, {});
  ASSERT_TRUE(board.ok());
  EXPECT_EQ(FigureProgram(FigureKind::kCost, board->tables[0], 0, runs.runs, "a"), "");
}

// Other work on the machine made the second run take three times as long.
TEST(FiguresTest, CostIsThatOfTheFastestWholeRun) {
  const auto program = [](const FoundRuns& runs) {
    const auto board = BuildLeaderboard(runs, {}, {});
    EXPECT_TRUE(board.ok()) << board.status();
    return FigureProgram(FigureKind::kCost, board->tables[0], 0, runs.runs, "a");
  };
  FoundRuns runs = Runs();
  runs.runs[2].record.mutable_efficiency()->set_wall_seconds(5400);
  EXPECT_THAT(program(runs), HasSubstr("$row1 << END\n0.5 35.5"));
  EXPECT_THAT(program(runs), HasSubstr("set xlabel 'core-hours of the fastest run'"));
  // One that an early stop ended took fewer steps, not less for each.
  runs.runs[1].record.set_stopped_at_step(10);
  EXPECT_THAT(program(runs), HasSubstr("$row1 << END\n1.5 35.5"));
  runs.runs[2].record.set_stopped_at_step(10);
  EXPECT_THAT(program(runs), HasSubstr("$row1 << END\n0.5 35.5")) << "as many steps as the other";
}

// A logarithmic axis has no end for them; its ticks once filled the memory.
TEST(FiguresTest, CostsOutsideOfAnAxisAreLeftOut) {
  const auto program = [](double seconds) {
    FoundRuns runs = Runs();
    for (LocatedRecord& run : runs.runs) run.record.mutable_efficiency()->set_wall_seconds(seconds);
    const auto board = BuildLeaderboard(runs, {}, {});
    EXPECT_TRUE(board.ok()) << board.status();
    return FigureProgram(FigureKind::kCost, board->tables[0], 0, runs.runs, "a");
  };
  EXPECT_EQ(program(std::numeric_limits<double>::infinity()), "");
  EXPECT_EQ(program(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_THAT(program(4e-320), HasSubstr("$row1 << END\n"));
}

// gnuplot runs what stands in backquotes, but not in single quotes.
TEST(FiguresTest, NamesAreNoCommands) {
  const TestFolder folder;
  const std::string owned = folder.File("owned");
  FoundRuns runs = Runs();
  runs.runs.push_back(Trained({.method = "a'`touch " + owned + "`\"\n@x", .correct = 800}, 0.1));
  const auto board = BuildLeaderboard(runs, {}, {});
  ASSERT_TRUE(board.ok());
  EXPECT_THAT(FigureProgram(FigureKind::kScores, board->tables[0], 0, runs.runs, "a"),
              HasSubstr("'a''`touch "));
  const auto drawn = DrawReportFigures(*board, runs.runs, folder.File("figures"));
  EXPECT_FALSE(FileExists(owned));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  const std::string stem = folder.File("figures/");
  EXPECT_THAT(*drawn, ElementsAre(stem + "scores-1", stem + "curves-1", stem + "cost-1"));
  for (const std::string& name : *drawn) ExpectPictures(name);
}

TEST(FiguresTest, LongNamesAreCutAfter24Characters) {
  FoundRuns runs = Runs();
  std::string longest;
  for (int i = 0; i < 24; ++i) longest += "\u00e4";
  runs.runs.push_back(Trained({.method = longest, .correct = 800}, 0.1));
  runs.runs.push_back(Trained({.method = longest + "b", .correct = 810}, 0.1));
  const auto board = BuildLeaderboard(runs, {}, {});
  ASSERT_TRUE(board.ok());
  const std::string program =
      FigureProgram(FigureKind::kScores, board->tables[0], 0, runs.runs, "a");
  EXPECT_THAT(program, HasSubstr("'" + longest + "' "));
  EXPECT_THAT(program, HasSubstr("'" + longest + "...' "));
}

TEST(FiguresTest, WithoutGnuplotItSaysWhatToInstall) {
  const TestFolder folder;
  const FoundRuns runs = Runs();
  const auto board = BuildLeaderboard(runs, {}, {});
  ASSERT_TRUE(board.ok());
  const auto drawn = DrawReportFigures(*board, runs.runs, folder.path(), "no-such-program");
  EXPECT_EQ(drawn.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(drawn.status().message()), HasSubstr("gnuplot-nox"));
  EXPECT_TRUE(FileExists(folder.File("scores-1.gp")));
}

}  // namespace
}  // namespace lra
