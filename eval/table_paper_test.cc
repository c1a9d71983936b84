#include "eval/table_paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eval/latex_text.h"
#include "eval/leaderboard_test_util.h"

namespace lra {
namespace {

using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Paper(const std::vector<LocatedRecord>& runs,
                  const std::vector<PublishedTable>& published = {}) {
  const auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, published, {});
  return board.ok() ? WritePaperTables(*board) : std::string(board.status().message());
}

PublishedTable Printed(const std::string& column, double value) {
  PublishedTable table;
  table.set_name("some_2020");
  table.set_source("Some Body, real_paper");
  table.set_evidence_class("P");
  PublishedRow* row = table.add_rows();
  row->set_method("linear");
  row->set_label("Linear & Co.");
  row->add_cells()->set_column(column);
  row->mutable_cells(0)->set_value(value);
  return table;
}

TEST(TablePaperTest, NumbersOfAColumnEndAtOneDecimalPoint) {
  // 45.0 [42.8, 47.2] of one run has one decimal, the printed number two.
  const std::string text = Paper({MakeRun({.correct = 900})}, {Printed("listops", 16.13)});
  EXPECT_THAT(text, HasSubstr("linear & 45.0\\phantom{0} & {\\scriptsize\\,$\\pm$2.2}"
                              "\\textsuperscript{$\\ast$} \\\\\n"));
  EXPECT_THAT(text, HasSubstr("Linear \\& Co. & 16.13 &  \\\\\n"));
  EXPECT_THAT(text, HasSubstr("\\emph{Published: some\\_2020}\\lracite{some_2020}"));
  EXPECT_THAT(text, HasSubstr("Some Body, real\\_\\allowbreak{}paper"));
}

TEST(TablePaperTest, ArmsThatDifferAreBothGiven) {
  // Clopper-Pearson of 2 of 2,000: 0.10 [0.012, 0.361].
  const std::string text = Paper({MakeRun({.correct = 2})});
  EXPECT_THAT(text, HasSubstr("$^{+0.26}_{-0.09}$"));
}

// Two seeds each, with scores of counts alone: linear and relu share a letter.
TEST(TablePaperTest, BoldFollowsLetters) {
  std::vector<LocatedRecord> runs = {MakeBaseline("majority", 100)};
  for (const uint32_t seed : {0, 1, 2}) {
    runs.push_back(MakeRun({.method = "linear", .seed = seed, .correct = 1200 + 2 * seed}));
    runs.push_back(MakeRun({.method = "relu", .seed = seed, .correct = 1195 + 2 * seed}));
    runs.push_back(MakeRun({.method = "local", .seed = seed, .correct = 300 + 2 * seed}));
  }
  const std::string text = Paper(runs);
  EXPECT_THAT(text, HasSubstr("majority & 5."));  // baselines are not in the race
  EXPECT_THAT(text, HasSubstr("linear & \\textbf{60.1}"));
  EXPECT_THAT(text, HasSubstr("relu & \\textbf{59.9}"));
  EXPECT_THAT(text, HasSubstr("local & 15."));
  EXPECT_THAT(text, HasSubstr("\\textsuperscript{a"));
  EXPECT_THAT(text, HasSubstr("share a letter with it or"));
}

// A run of 2,000,000 examples, so that three points are told apart among 351 pairs.
LocatedRecord RunOfMany(const std::string& method, uint32_t seed, int64_t correct) {
  LocatedRecord run = MakeRun({.method = method, .seed = seed, .correct = correct});
  SplitResult& result = *run.record.mutable_results(0);
  result.set_examples(2'000'000);
  (*result.mutable_sums()->mutable_counts())[kTargets] = 2'000'000;
  return run;
}

// The best row's letter is a, the last one's a2.
TEST(TablePaperTest, MoreGroupsThanLettersAreComparedAsGroups) {
  std::vector<LocatedRecord> runs;
  for (int row = 0; row < 27; ++row) {
    for (const uint32_t seed : {0, 1})
      runs.push_back(RunOfMany("m" + std::to_string(10 + row), seed, 60'000 * (30 - row)));
  }
  const std::string text = Paper(runs);
  EXPECT_THAT(text, HasSubstr("m10 & \\textbf{90.000} & {\\scriptsize"));
  EXPECT_THAT(text, HasSubstr("\\textsuperscript{z$\\ddagger$} \\\\\n"));
  EXPECT_THAT(text, HasSubstr("\\textsuperscript{a2$\\ddagger$} \\\\\n"));
  EXPECT_THAT(text, HasSubstr("\na2 is another letter than a.\n"));
  EXPECT_THAT(text.substr(text.find("\\textbf") + 1), Not(HasSubstr("\\textbf")));
  runs.resize(2 * 26);
  EXPECT_THAT(Paper(runs), Not(HasSubstr("another letter")));
}

TEST(TablePaperTest, BoldFollowsIntervalsOfSingleRuns) {
  const std::string text =
      Paper({MakeRun({.correct = 900}), MakeRun({.method = "relu", .correct = 890}),
             MakeRun({.method = "local", .correct = 700})});
  EXPECT_THAT(text, HasSubstr("linear & \\textbf{45.0}"));
  EXPECT_THAT(text, HasSubstr("relu & \\textbf{44.5}"));
  EXPECT_THAT(text, HasSubstr("local & 35.0"));
}

// The best, 65.0, is not within 62.5 [60.3, 64.6]; but it is itself known to 2.3 points only.
TEST(TablePaperTest, TheBestRowsOwnIntervalCounts) {
  std::vector<LocatedRecord> runs = {MakeRun({.method = "near", .correct = 1250}),
                                     MakeRun({.method = "far", .correct = 1200})};
  for (const uint32_t seed : {0, 1, 2})
    runs.push_back(MakeRun({.method = "best", .seed = seed, .correct = 1290 + 10 * seed}));
  const std::string text = Paper(runs);
  EXPECT_THAT(text, HasSubstr("best & \\textbf{65.0}"));
  EXPECT_THAT(text, HasSubstr("near & \\textbf{62.5}"));
  EXPECT_THAT(text, HasSubstr("far & 60.0"));
}

// What is not known cannot be told apart from the best.
TEST(TablePaperTest, NothingIsBoldWhereAMeanHasNoInterval) {
  const auto board = BuildLeaderboard(
      {.runs = {MakeRun({.correct = 900}), MakeRun({.method = "relu", .correct = 700})},
       .unfinished = {}},
      {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  Leaderboard unknown = *board;
  EXPECT_THAT(WritePaperTables(unknown), HasSubstr("linear & \\textbf{45.0}"));
  EXPECT_THAT(WritePaperTables(unknown), Not(HasSubstr("Nothing is bold")));
  unknown.tables[0].rows[1].cells[0]->interval.reset();
  const std::string text = WritePaperTables(unknown);
  EXPECT_THAT(text, Not(HasSubstr("\\textbf")));
  EXPECT_THAT(text, HasSubstr("\nNothing is bold in a column where a mean has neither letters nor "
                              "an interval.\n"));
}

// Neighbours in Text depend on each other, and a count does not say how; in ListOps it says all.
TEST(TablePaperTest, ASingleRunIsMarkedWhereItsCountDoesNotDo) {
  EXPECT_THAT(Paper({MakeRun({.task = "text"})}),
              HasSubstr("\\textsuperscript{$\\ast$$\\ddagger$} \\\\\n"));
  EXPECT_THAT(Paper({MakeRun({})}), Not(HasSubstr("ddagger")));
}

TEST(TablePaperTest, OneRowHasNoBest) {
  EXPECT_THAT(Paper({MakeRun({.correct = 900})}), Not(HasSubstr("\\textbf")));
}

TEST(TablePaperTest, AveragesOfSingleRunsAreMarked) {
  const std::vector<LocatedRecord> runs = {MakeRun({}), MakeRun({.task = "image"})};
  EXPECT_THAT(Paper(runs),
              HasSubstr("{\\scriptsize\\,$\\pm$1.5}\\textsuperscript{$\\ast$} \\\\\n"));
  EXPECT_THAT(Paper(runs), HasSubstr("One run, or an average with such a cell"));
  std::vector<LocatedRecord> twice = runs;
  for (LocatedRecord run : runs) {
    run.record.set_seed(1);
    run.record.mutable_config()->set_seed(1);
    twice.push_back(run);
  }
  EXPECT_THAT(Paper(twice), Not(HasSubstr("$\\ast$")));
}

TEST(TablePaperTest, RunsThatFailedAreCounted) {
  const std::string text =
      Paper({MakeBaseline("majority", 340), MakeRun({.seed = 0, .correct = 900}),
             MakeRun({.seed = 1, .correct = 910}), MakeRun({.seed = 2, .correct = 100}),
             MakeRun({.method = "relu", .correct = 100})});
  EXPECT_THAT(text, HasSubstr("{\\scriptsize\\,(2/3)}"));
  EXPECT_THAT(text, HasSubstr("(4/5): four of five runs trained"));
  EXPECT_THAT(text, HasSubstr("Averages and bold count such a run as guessing"));
  EXPECT_THAT(text, HasSubstr("relu &  & {\\scriptsize\\,\\textsc{fail} 0/1} \\\\\n"));
  EXPECT_THAT(text, HasSubstr(", means over 1 to 3 runs (protocol fair@1, preset small)."));
}

TEST(TablePaperTest, RunsOfExternalRowsAreCounted) {
  std::vector<LocatedRecord> runs = {MakeBaseline("majority", 340), MakeRun({})};
  for (const uint32_t seed : {0, 1, 2})
    runs.push_back(MakeRun({.method = "mine", .seed = seed, .kind = RunRecord::EXTERNAL}));
  EXPECT_THAT(Paper(runs), HasSubstr(", means over 1 to 3 runs (protocol fair@1, preset small)."));
  EXPECT_THAT(Paper(runs), HasSubstr("\n% listops: seeds of external rows mine 0, 1, 2.\n"));
}

TEST(TablePaperTest, StartsFromAnotherRunAreMarked) {
  LocatedRecord run = MakeRun({});
  EXPECT_THAT(Paper({run}), Not(HasSubstr("another run")));
  run.record.mutable_config()->set_encoder_weights_sha256("37ff");
  EXPECT_THAT(Paper({run}), HasSubstr("\\textsuperscript{$\\ast$$\\|$} \\\\\n"));
  EXPECT_THAT(Paper({run}),
              HasSubstr("\\textsuperscript{$\\|$}~From another run's encoder or weights"));
  run.record.mutable_config()->set_encoder_recipe("5e");
  EXPECT_THAT(Paper({run}),
              AllOf(HasSubstr("\\textsuperscript{$\\triangleright$}~From another run's encoder, "
                              "each seed its own"),
                    Not(HasSubstr("encoder or weights"))));
}

TEST(TablePaperTest, WideTablesTakeThePage) {
  std::vector<LocatedRecord> runs = {MakeRun({}), MakeRun({.task = "text"})};
  EXPECT_THAT(Paper(runs), HasSubstr("\\begin{table}[t]"));
  runs.push_back(MakeRun({.task = "image"}));
  EXPECT_THAT(Paper(runs), HasSubstr("\\begin{table*}[t]"));
  EXPECT_THAT(Paper(runs), HasSubstr("\\label{tab:lra}"));
}

TEST(TablePaperTest, WhatIsLeftOutStandsInComments) {
  const auto board =
      BuildLeaderboard({.runs = {MakeRun({})}, .unfinished = {"runs/killed"}}, {}, {});
  ASSERT_TRUE(board.ok());
  EXPECT_THAT(WritePaperTables(*board), HasSubstr("\n% Not here: runs/killed: has no record"));
}

TEST(LatexTextTest, NamesMayBreak) {
  EXPECT_EQ(BreakableLatex("a_b/c.d e. F"),
            "a\\_\\allowbreak{}b/\\allowbreak{}c.\\allowbreak{}d e. F");
  const std::string digest(32, 'f');
  EXPECT_EQ(BreakableLatex(digest), digest);
  EXPECT_EQ(BreakableLatex(digest + "0."),
            absl::StrCat("ffffffffffffffff\\allowbreak{}", "ffffffffffffffff\\allowbreak{}0.",
                         "\\allowbreak{}"));
}

}  // namespace
}  // namespace lra
