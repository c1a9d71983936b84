#include "eval/leaderboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "eval/leaderboard_test_util.h"

namespace lra {
namespace {

using ::lra::testing::Build;
using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::lra::testing::SetCorrect;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Labels(const LeaderboardTable& table) {
  std::vector<std::string> labels;
  for (const LeaderboardRow& row : table.rows) labels.push_back(row.label);
  return labels;
}

TEST(LeaderboardTest, OneSeedGetsTheBinomialInterval) {
  const Leaderboard board = Build({MakeRun({.correct = 700})});
  ASSERT_EQ(board.tables.size(), 1);
  const LeaderboardCell& cell = *board.tables[0].rows.at(0).cells.at(0);
  const Interval expected = ClopperPearson(700, 2000, 0.95);
  EXPECT_DOUBLE_EQ(cell.value, 0.35);
  EXPECT_DOUBLE_EQ(cell.interval->low, expected.low);
  EXPECT_DOUBLE_EQ(cell.interval->high, expected.high);
  EXPECT_THAT(cell.seeds, ElementsAre(0));
}

TEST(LeaderboardTest, SeveralSeedsGetTheMeanAndTheWidestIntervalOfTheirCounts) {
  const Leaderboard board =
      Build({MakeRun({.seed = 2, .correct = 720}), MakeRun({.seed = 0, .correct = 700}),
             MakeRun({.seed = 1, .correct = 680})});
  const LeaderboardCell& cell = *board.tables.at(0).rows.at(0).cells.at(0);
  EXPECT_NEAR(cell.value, 0.35, 1e-15);
  EXPECT_EQ(cell.method, "crossed, bounded by counts");
  // Seeds: MSA / (n S) = 1e-4 / 3 with two degrees of freedom; examples: 0.35 * 0.65 / 1999.
  const double v_seed = 1e-4 / 3, v_example = 0.35 * 0.65 / 1999;
  const double h = (v_seed * 4.302652730 + v_example * 1.961151) / std::sqrt(v_seed + v_example);
  EXPECT_NEAR((cell.interval->high - cell.interval->low) / 2, h, 1e-3);
  EXPECT_THAT(cell.seeds, ElementsAre(0, 1, 2));
  EXPECT_EQ(cell.trained, 3);
}

TEST(LeaderboardTest, BaselinesStandFirstAndRowsFallByScore) {
  const Leaderboard board =
      Build({MakeRun({.method = "linear", .correct = 650}), MakeBaseline("root_operator", 725),
             MakeRun({.method = "cosformer", .correct = 700}), MakeBaseline("majority", 340)});
  EXPECT_THAT(Labels(board.tables.at(0)),
              ElementsAre("majority", "root_operator", "cosformer", "linear"));
}

TEST(LeaderboardTest, WithoutBaselinesThereIsNoVerdict) {
  const Leaderboard board = Build({MakeRun({.correct = 1999})});
  const LeaderboardCell& cell = *board.tables.at(0).rows.at(0).cells.at(0);
  EXPECT_EQ(cell.learned.verdict, Verdict::kUnknown);
  EXPECT_FALSE(cell.learned.runs_above.has_value());
  EXPECT_THAT(::testing::PrintToString(board.tables[0].notes),
              HasSubstr("no majority class is on record (`lra baseline listops`)"));
}

// Each case changes one thing that makes two runs unlike, and gives the word that the explanation
// must hold.
struct UnlikeCase {
  const char* word;
  void (*change)(RunRecord*);
};

class UnlikeTest : public ::testing::TestWithParam<UnlikeCase> {};

TEST_P(UnlikeTest, UnlikeRunsNeverShareATable) {
  LocatedRecord other = MakeRun({.method = "cosformer"});
  GetParam().change(&other.record);
  const Leaderboard board = Build({MakeRun({.method = "linear"}), other});
  ASSERT_EQ(board.tables.size(), 2);
  EXPECT_EQ(board.tables[0].rows.size() + board.tables[1].rows.size(), 2);
  EXPECT_EQ(board.tables[0].differs, "");
  EXPECT_THAT(board.tables[1].differs, HasSubstr(GetParam().word));
}

INSTANTIATE_TEST_SUITE_P(
    All, UnlikeTest,
    ::testing::Values(
        UnlikeCase{"data.split_fingerprint",
                   [](RunRecord* r) {
                     (*r->mutable_data()->mutable_split_fingerprint())["test"] = "bbbb";
                   }},
        UnlikeCase{"data.split_fingerprint",
                   [](RunRecord* r) {
                     (*r->mutable_data()->mutable_split_fingerprint())["train"] = "bbbb";
                   }},
        UnlikeCase{"data.view_fingerprint",
                   [](RunRecord* r) { r->mutable_data()->set_view_fingerprint("v"); }},
        UnlikeCase{"config.protocol",
                   [](RunRecord* r) { r->mutable_config()->set_protocol("lra2020@1"); }},
        UnlikeCase{"config.preset", [](RunRecord* r) { r->mutable_config()->set_preset("smoke"); }},
        UnlikeCase{"config.train.steps (150",
                   [](RunRecord* r) { r->mutable_config()->mutable_train()->set_steps(9); }},
        UnlikeCase{"config.model.layers",
                   [](RunRecord* r) { r->mutable_config()->mutable_model()->set_layers(3); }}));

TEST(LeaderboardTest, OtherDataTakesItsOwnBaselinesAlong) {
  LocatedRecord baseline = MakeBaseline("majority", 340);
  (*baseline.record.mutable_data()->mutable_split_fingerprint())["test"] = "bbbb";
  const Leaderboard board = Build({MakeRun({}), baseline});
  ASSERT_EQ(board.tables.size(), 2);
  EXPECT_THAT(Labels(board.tables[0]), ElementsAre("linear"));
  EXPECT_THAT(Labels(board.tables[1]), ElementsAre("majority"));
}

TEST(LeaderboardTest, BaselinesJoinEveryTableOfTheirData) {
  LocatedRecord longer = MakeRun({.method = "cosformer"});
  longer.record.mutable_config()->mutable_train()->set_steps(500);
  const Leaderboard board = Build({MakeRun({}), longer, MakeBaseline("majority", 340)});
  ASSERT_EQ(board.tables.size(), 2);
  for (const LeaderboardTable& table : board.tables) EXPECT_EQ(Labels(table).front(), "majority");
}

TEST(LeaderboardTest, AverageNeedsEveryTask) {
  const Leaderboard board =
      Build({MakeRun({.method = "linear", .task = "listops", .correct = 600}),
             MakeRun({.method = "linear", .task = "text", .correct = 1200}),
             MakeRun({.method = "cosformer", .task = "listops", .correct = 900})});
  ASSERT_EQ(board.tables.size(), 1);
  EXPECT_THAT(board.tables[0].tasks, ElementsAre("listops", "text"));
  EXPECT_THAT(Labels(board.tables[0]), ElementsAre("linear", "cosformer"));  // the fuller row first
  EXPECT_DOUBLE_EQ(board.tables[0].rows[0].average.value(), 0.45);
  EXPECT_FALSE(board.tables[0].rows[1].average.has_value());
  EXPECT_FALSE(board.tables[0].rows[1].cells[1].has_value());
}

TEST(LeaderboardTest, OneTaskHasNoAverage) {
  EXPECT_FALSE(Build({MakeRun({})}).tables.at(0).rows.at(0).average.has_value());
}

TEST(LeaderboardTest, VariantsOfOneMethodAreRowsOfTheirOwn) {
  LocatedRecord a = MakeRun({.method = "cosformer", .seed = 0, .correct = 800});
  LocatedRecord b = MakeRun({.method = "cosformer", .seed = 0, .correct = 700});
  b.record.mutable_config()->mutable_attention()->set_dropout(0.1f);
  const Leaderboard board = Build({a, b});
  ASSERT_EQ(board.tables.size(), 1);
  EXPECT_THAT(Labels(board.tables[0]),
              ElementsAre("cosformer (dropout=unset)", "cosformer (dropout=0.1)"));
}

// A row says which options its runs had, also where there is nothing to tell them apart from.
TEST(LeaderboardTest, OptionsThatWereSetByHandStandInTheLabel) {
  LocatedRecord run = MakeRun({.method = "cosformer"}), plain = MakeRun({.method = "linear"});
  run.record.mutable_config()->mutable_attention()->set_dropout(0.1f);
  (*run.record.mutable_provenance())["attention.name"] = "--attention";
  (*run.record.mutable_provenance())["attention.dropout"] = "--set";
  plain.record.mutable_config()->mutable_attention()->set_dropout(0.2f);
  (*plain.record.mutable_provenance())["attention.dropout"] = "attention linear";
  const Leaderboard board = Build({run, plain});
  EXPECT_THAT(Labels(board.tables.at(0)),
              ::testing::UnorderedElementsAre("cosformer (dropout=0.1)", "linear"));
}

TEST(LeaderboardTest, ARepeatedSeedCountsOnce) {
  LocatedRecord copy = MakeRun({}), other = MakeRun({.correct = 701});
  copy.directory = "backup/copy";
  copy.record.set_finished_unix_seconds(99);  // volatile
  other.directory = "elsewhere/other";
  const Leaderboard board = Build({MakeRun({}), copy, other});
  EXPECT_EQ(board.tables.at(0).rows.at(0).cells.at(0)->seeds.size(), 1);
  ASSERT_EQ(board.left_out.size(), 2);
  EXPECT_THAT(board.left_out[0], HasSubstr("backup/copy: is a copy of runs/listops-linear-s0"));
  EXPECT_THAT(board.left_out[1], HasSubstr("elsewhere/other: repeats"));
}

// The same predictions, made by another command below another protocol.
TEST(LeaderboardTest, ABaselineOfEqualPredictionsIsACopy) {
  LocatedRecord first = MakeBaseline("majority", 340), again = first, other = first;
  first.record.add_test_looks()->set_command("lra baseline listops");
  again.directory = "elsewhere/majority";
  again.record.add_test_looks()->set_command("lra baseline listops --out elsewhere");
  again.record.mutable_config()->set_protocol("strong@1");
  other.directory = "other/majority";
  SetCorrect(341, other.record.mutable_results(0));
  const Leaderboard board = Build({MakeRun({}), first, again, other});
  ASSERT_EQ(board.left_out.size(), 2);
  EXPECT_THAT(board.left_out[0], HasSubstr("elsewhere/majority: is a copy of runs/"));
  EXPECT_THAT(board.left_out[1], HasSubstr("other/majority: repeats"));
}

// Equal classes, which have no loss, prove nothing: runs that guess one class for all are alike.
TEST(LeaderboardTest, OneFileOfLogitsIsOneRunWhateverItsSeeds) {
  std::vector<LocatedRecord> runs;
  for (const uint32_t seed : {0, 1}) {
    runs.push_back(MakeRun({.method = "mine", .seed = seed, .kind = RunRecord::EXTERNAL}));
    SplitResult& result = *runs.back().record.mutable_results(0);
    result.set_predictions_sha256("ab12");
    (*result.mutable_sums()->mutable_totals())[kNats] = 1000;
  }
  const Leaderboard once = Build(runs);
  EXPECT_EQ(once.tables.at(0).rows.at(0).cells.at(0)->runs(), 1);
  EXPECT_THAT(once.left_out, ElementsAre("runs/listops-mine-s1: has, as seed 1, the predictions of "
                                         "seed 0, runs/listops-mine-s0; only that one is counted"));
  for (LocatedRecord& run : runs)
    (*run.record.mutable_results(0)->mutable_sums()->mutable_totals())[kNats] = std::nan("");
  EXPECT_EQ(Build(runs).tables.at(0).rows.at(0).cells.at(0)->runs(), 2);
}

TEST(LeaderboardTest, ALaterLookAtTheTestSplitMakesNoOtherRun) {
  LocatedRecord copy = MakeRun({});
  copy.directory = "backup/copy";
  copy.record.add_test_looks()->set_command("lra eval backup/copy --split test");
  EXPECT_THAT(Build({MakeRun({}), copy}).left_out,
              ElementsAre(HasSubstr("backup/copy: is a copy of ")));
}

TEST(LeaderboardTest, RunsWithoutAResultAreNamed) {
  LocatedRecord unscored = MakeRun({.method = "cosformer"});
  unscored.record.clear_results();
  const auto board =
      BuildLeaderboard({.runs = {MakeRun({}), unscored}, .unfinished = {"runs/killed"}}, {}, {});
  ASSERT_TRUE(board.ok());
  ASSERT_EQ(board->left_out.size(), 2);
  EXPECT_THAT(board->left_out[0], HasSubstr("cosformer was not scored on the test split"));
  EXPECT_THAT(board->left_out[1], HasSubstr("runs/killed"));
}

TEST(LeaderboardTest, ARunScoredAtItsLastCheckpointAloneIsNamedAsThat) {
  LocatedRecord run = MakeRun({.method = "cosformer"});
  run.record.mutable_results(0)->set_checkpoint(kLastCheckpoint);
  const auto board = BuildLeaderboard({.runs = {MakeRun({}), run}}, {}, {});
  ASSERT_TRUE(board.ok());
  EXPECT_THAT(board->left_out,
              ElementsAre(HasSubstr("cosformer was scored on the test split at its last checkpoint "
                                    "alone, which is not the selected one")));
}

TEST(LeaderboardTest, TheLastCheckpointDoesNotStandForTheRun) {
  LocatedRecord run = MakeRun({.correct = 700});
  SplitResult last = run.record.results(0);
  last.set_checkpoint(kLastCheckpoint);
  SetCorrect(1, &last);
  const SplitResult selected = run.record.results(0);
  run.record.clear_results();
  *run.record.add_results() = last;
  *run.record.add_results() = selected;
  EXPECT_DOUBLE_EQ(Build({run}).tables.at(0).rows.at(0).cells.at(0)->value, 0.35);
}

// Step 100 of 150 was selected and the last one left out (--no-last).
TEST(LeaderboardTest, ACellWithARunWithoutItsLastScoreHasNoLastStep) {
  LocatedRecord with_last = MakeRun({.seed = 0, .correct = 700});
  SplitResult* last = with_last.record.add_results();
  *last = with_last.record.results(0);
  last->set_checkpoint(kLastCheckpoint);
  SetCorrect(600, last);
  LocatedRecord without = MakeRun({.seed = 1, .correct = 800});
  without.record.mutable_results(0)->set_step(100);
  const auto last_value = [&] {
    return Build({with_last, without}).tables.at(0).rows.at(0).cells.at(0)->last_value;
  };
  EXPECT_FALSE(last_value().has_value());
  without.record.set_stopped_at_step(100);  // which then was the last one
  EXPECT_DOUBLE_EQ(last_value().value(), 0.35);
}

TEST(LeaderboardTest, NotesSayHowTheRowsWereObtained) {
  LocatedRecord run = MakeRun({});
  for (int i = 0; i < 3; ++i) run.record.add_test_looks()->set_command("lra eval");
  LocatedRecord baseline = MakeBaseline("majority", 340);
  baseline.record.set_description("the most frequent label");
  LeaderboardOptions options;
  options.descriptions = {{"linear", "elu + 1"}, {"absent", "never shown"}};
  const auto board = BuildLeaderboard({.runs = {run, baseline}, .unfinished = {}}, {}, options);
  ASSERT_TRUE(board.ok());
  const std::string notes = ::testing::PrintToString(board->tables.at(0).notes);
  EXPECT_THAT(notes, HasSubstr("linear: elu + 1"));
  EXPECT_EQ(notes.find("absent"), std::string::npos);
  EXPECT_THAT(
      notes,
      HasSubstr(
          "generated data, canonical, version 1; 2,000 test examples (fingerprint aaaa01234567)"));
  EXPECT_THAT(
      notes,
      HasSubstr("protocol fair@1, preset small, overridden: train.steps=150; 150 steps of 32"));
  EXPECT_THAT(notes, HasSubstr("best validation accuracy"));
  EXPECT_THAT(notes, HasSubstr("linear 0 (123,456 parameters)"));
  EXPECT_THAT(notes, HasSubstr("majority: the most frequent label"));
  EXPECT_THAT(notes, HasSubstr("looked at the test split 3 times"));
}

// No data of pictures is pinned, so genuine ones are no other data.
TEST(LeaderboardTest, NotesSayWhereNothingIsPinned) {
  LocatedRecord run = MakeRun({.task = "image"});
  run.record.mutable_data()->set_is_canonical(false);
  const auto board = BuildLeaderboard({.runs = {run}, .unfinished = {}}, {}, LeaderboardOptions());
  ASSERT_TRUE(board.ok());
  EXPECT_THAT(::testing::PrintToString(board->tables.at(0).notes),
              HasSubstr("generated data, nothing pinned to compare with, version 1; "));
}

TEST(LeaderboardTest, WrongUse) {
  LeaderboardOptions options;
  options.confidence = 1;
  EXPECT_EQ(
      BuildLeaderboard({.runs = {MakeRun({})}, .unfinished = {}}, {}, options).status().code(),
      absl::StatusCode::kInvalidArgument);
  options = LeaderboardOptions();
  options.split = "validation";
  const auto none = BuildLeaderboard({.runs = {MakeRun({})}, .unfinished = {}}, {}, options);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("validation"));
}

}  // namespace
}  // namespace lra
