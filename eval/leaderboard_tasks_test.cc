// Tests of tables of several tasks, and of what they say about how runs came about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "eval/leaderboard.h"
#include "eval/leaderboard_test_util.h"
#include "eval/table_writer.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/sha256.h"

namespace lra {
namespace {

using ::lra::testing::Build;
using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::lra::testing::SetCorrect;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const LeaderboardCell& OnlyCell(const Leaderboard& board) {
  return *board.tables.at(0).rows.back().cells.at(0);
}

std::string Notes(const LeaderboardTable& table) { return absl::StrJoin(table.notes, "\n"); }

std::vector<LocatedRecord> AllTasks(const std::string& method, int64_t correct) {
  std::vector<LocatedRecord> runs;
  for (const char* task :
       {"image", "listops", "mytask", "pathfinder32", "pathx", "retrieval", "text"})
    runs.push_back(MakeRun({.method = method, .task = task, .correct = correct}));
  return runs;
}

TEST(LeaderboardTasksTest, ColumnsStandInTheBenchmarksOrder) {
  std::vector<LocatedRecord> runs = AllTasks("linear", 600);
  // 700 more than the others.
  runs[1] = MakeRun({.method = "linear", .task = "listops", .correct = 1300});
  for (LocatedRecord& run : AllTasks("cosformer", 900)) {
    if (run.record.data().task() != "pathx" && run.record.data().task() != "text")
      runs.push_back(run);
  }
  const Leaderboard board = Build(runs);
  ASSERT_EQ(board.tables.size(), 1);
  const LeaderboardTable& table = board.tables[0];
  EXPECT_THAT(table.tasks, ElementsAre("listops", "text", "retrieval", "image", "pathfinder32",
                                       "pathx", "mytask"));
  ASSERT_EQ(table.rows.size(), 2);
  EXPECT_EQ(table.rows[0].label, "linear");
  EXPECT_DOUBLE_EQ(table.rows[0].cells[0]->value, 0.65);
  EXPECT_DOUBLE_EQ(table.rows[0].average.value(), (7 * 0.30 + 0.35) / 7);
  EXPECT_THAT(table.rows[0].missing_tasks, IsEmpty());
  EXPECT_FALSE(table.rows[1].average.has_value());
  EXPECT_THAT(table.rows[1].missing_tasks, ElementsAre("text", "pathx"));
  EXPECT_THAT(Notes(table),
              HasSubstr("No average, because a task is missing: cosformer (text, pathx)."));
}

TEST(LeaderboardTasksTest, ASecondProtocolGivesASecondTable) {
  std::vector<LocatedRecord> runs = AllTasks("linear", 600);
  for (LocatedRecord& run : AllTasks("linear", 700)) {
    run.record.mutable_config()->set_protocol("s4@1");
    runs.push_back(run);
  }
  const Leaderboard board = Build(runs);
  ASSERT_EQ(board.tables.size(), 2);
  for (const LeaderboardTable& table : board.tables) {
    EXPECT_EQ(table.tasks.size(), 7);
    EXPECT_EQ(table.rows.size(), 1);
  }
  EXPECT_THAT(board.tables[1].differs,
              HasSubstr("on text it differs from the first in config.protocol (fair@1 there, "
                        "s4@1 here)"));
}

LocatedRecord WithSteps(const std::string& task, int steps) {
  LocatedRecord run = MakeRun({.task = task});
  run.record.mutable_config()->mutable_train()->set_steps(steps);
  return run;
}

TEST(LeaderboardTasksTest, OverridesOfOneTaskDoNotTearATableApart) {
  const Leaderboard board =
      Build({WithSteps("listops", 150), WithSteps("text", 300), WithSteps("image", 450)});
  ASSERT_EQ(board.tables.size(), 1);
  EXPECT_THAT(board.tables[0].tasks, ElementsAre("listops", "text", "image"));
  EXPECT_THAT(
      Notes(board.tables[0]),
      AllOf(HasSubstr("listops: protocol fair@1, preset small, overridden: train.steps=150"),
            HasSubstr("text: protocol fair@1, preset small, overridden: train.steps=300")));
}

// What the preset replaced of the protocol is named, what a user replaced stands among overrides.
TEST(LeaderboardTasksTest, RulesThatAPresetChangesAreNamed) {
  LocatedRecord run = MakeRun({});
  const auto change = [&](const char* path, const char* before, const char* now,
                          const char* origin) {
    ChangedRule* rule = run.record.add_changed_rule();
    rule->set_path(path);
    rule->set_protocol_value(before);
    rule->set_value(now);
    rule->set_origin(origin);
  };
  change("schedule.learning_rate", "0.0005", "0.001", "preset small under protocol fair");
  change("train.patience", "", "3", "preset small");
  change("train.steps", "5000", "150", "--set");
  EXPECT_THAT(Notes(Build({run}).tables.at(0)),
              HasSubstr("preset small, which changes the protocol's schedule.learning_rate (0.0005 "
                        "-> 0.001), train.patience ((unset) -> 3), "));
}

TEST(LeaderboardTasksTest, DamagedRecordsStandAmongWhatIsLeftOut) {
  const auto board =
      BuildLeaderboard({.runs = {MakeRun({})}, .unfinished = {}, .damaged = {"a/b: bad"}}, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  EXPECT_THAT(board->left_out, ::testing::Contains("a/b: bad"));
}

TEST(LeaderboardTasksTest, ATaskWithTwoSettingsIsToldApartByThem) {
  const Leaderboard board = Build({WithSteps("listops", 150), WithSteps("listops", 300),
                                   WithSteps("text", 300), WithSteps("image", 450)});
  ASSERT_EQ(board.tables.size(), 2);
  EXPECT_THAT(board.tables[0].tasks, ElementsAre("listops"));  // the run of 150 steps
  EXPECT_THAT(board.tables[1].tasks, ElementsAre("listops", "text", "image"));
}

TEST(LeaderboardTasksTest, WhatTheRulesSayAboutOneMethodIsNoOtherSetting) {
  LocatedRecord local = MakeRun({.method = "local"});
  local.record.mutable_config()->mutable_model()->set_pooling(ModelConfig::MEAN_OF_ALL);
  LocatedRecord by_hand = local;
  (*local.record.mutable_provenance())["model.pooling"] = "protocol lra2020, image/local";
  const Leaderboard one = Build({MakeRun({}), local});
  ASSERT_EQ(one.tables.size(), 1);
  EXPECT_THAT(Notes(one.tables[0]), HasSubstr("listops: the rules set for single methods: local "
                                              "model.pooling=MEAN_OF_ALL."));
  (*by_hand.record.mutable_provenance())["model.pooling"] = "protocol lra2020, task image";
  EXPECT_EQ(Build({MakeRun({}), by_hand}).tables.size(), 2);
}

// The note names each method's own steps, not those of the column's first run.
TEST(LeaderboardTasksTest, StepsThatARuleSetsForOneMethodStandBesideIt) {
  LocatedRecord longer = MakeRun({.method = "cosformer"});
  longer.record.mutable_config()->mutable_train()->set_steps(300);
  LocatedRecord shorter = MakeRun({.method = "linear"});
  for (LocatedRecord* run : {&longer, &shorter}) {
    (*run->record.mutable_provenance())["train.steps"] =
        "protocol s4, listops/" + run->record.method();
  }
  const Leaderboard board = Build({longer, shorter});
  ASSERT_EQ(board.tables.size(), 1);
  const std::string selection =
      "the step with the best validation accuracy was scored (ties: the "
      "earlier)";
  EXPECT_THAT(Notes(board.tables[0]),
              HasSubstr("nothing overridden; 150 steps of 32 examples; " + selection +
                        " (linear); 300 steps of 32 examples; " + selection + " (cosformer)."));
}

TEST(LeaderboardTasksTest, SelectionOnTheTestSplitIsTold) {
  LocatedRecord run = MakeRun({.task = "text"});
  run.record.mutable_config()->mutable_view()->set_split(DataView::TEST_AS_VALIDATION);
  ExperimentConfig& config = *run.record.mutable_config();
  config.mutable_evaluation()->set_selection(EvaluationConfig::BEST_VALIDATION);
  EXPECT_THAT(Notes(Build({run}).tables.at(0)),
              HasSubstr("text: validation is the test split, so scores were selected on the test"));
  config.mutable_evaluation()->set_selection(EvaluationConfig::LAST);
  EXPECT_THAT(Notes(Build({run}).tables.at(0)), Not(HasSubstr("selected on the test")));
}

LocatedRecord Searched(uint32_t seed, std::vector<double> rates, double chosen) {
  LocatedRecord run = MakeRun({.seed = seed});
  ExperimentConfig& config = *run.record.mutable_config();
  config.mutable_search()->set_budget_trials(static_cast<int>(rates.size()));
  config.mutable_schedule()->set_learning_rate(static_cast<float>(chosen));
  (*run.record.mutable_provenance())["schedule.learning_rate"] = "search";
  for (const double rate : rates) {
    config.mutable_search()->add_learning_rate(static_cast<float>(rate));
    Trial* trial = run.record.add_trials();
    trial->set_learning_rate(rate);
    trial->set_is_selected(rate == chosen);
  }
  return run;
}

TEST(LeaderboardTasksTest, ASearchIsToldUnderItsRow) {
  const Leaderboard board =
      Build({Searched(0, {0.001, 0.0001, 0.01}, 0.001), Searched(1, {0.001, 0.0001, 0.01}, 0.01),
             Searched(2, {0.001, 0.0001, 0.01}, 0.001)});
  ASSERT_EQ(board.tables.size(), 1);
  EXPECT_EQ(OnlyCell(board).seeds.size(), 3);
  EXPECT_EQ(OnlyCell(board).tuning, "3 trials: 0.0001, 0.001 (seeds 0, 2), 0.01 (seed 1)");
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("\n| linear: learning rates tried | 3 trials: 0.0001, "));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kJson), HasSubstr("\"tuning\": \"3 trials: "));
  EXPECT_THAT(WriteLeaderboard(Build({MakeRun({})}), TableFormat::kMarkdown),
              Not(HasSubstr("tried")));
}

TEST(LeaderboardTasksTest, UnequalBudgetsShareNoColumn) {
  EXPECT_EQ(Build({Searched(0, {0.001, 0.01}, 0.001), Searched(1, {0.001}, 0.001)}).tables.size(),
            2);
}

TEST(LeaderboardTasksTest, TheLastStepStandsBesideTheSelectedOne) {
  LocatedRecord run = MakeRun({.seed = 0, .correct = 700});
  SplitResult* last = run.record.add_results();
  *last = run.record.results(0);
  last->set_checkpoint(kLastCheckpoint);
  SetCorrect(600, last);
  // The last step of the second seed was selected, so its one score is both.
  const Leaderboard board = Build({run, MakeRun({.seed = 1, .correct = 800})});
  EXPECT_DOUBLE_EQ(OnlyCell(board).value, 0.375);
  EXPECT_DOUBLE_EQ(OnlyCell(board).last_value.value(), 0.35);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              HasSubstr("(counts); last step 35.00 |"));
  EXPECT_FALSE(OnlyCell(Build({MakeRun({})})).last_value.has_value());
  // It has the decimals of a narrow interval.
  LeaderboardCell narrow = OnlyCell(board);
  narrow.interval = {0.37499, 0.37501};
  EXPECT_THAT(internal::CellText(**FindMetric("accuracy"), RunRecord::MEASURED, narrow),
              AllOf(HasSubstr("37.5000 [37.4990, 37.5010]"), HasSubstr("last step 35.0000")));
}

// 100 of 2,000 is below the majority class: neither score of that run is shown.
TEST(LeaderboardTasksTest, TheLastStepIsOfTheRunsBehindTheValue) {
  const auto with_last = [](uint32_t seed, int64_t correct, int64_t last_correct) {
    LocatedRecord run = MakeRun({.seed = seed, .correct = correct});
    SplitResult last = run.record.results(0);
    last.set_checkpoint(kLastCheckpoint);
    SetCorrect(last_correct, &last);
    *run.record.add_results() = last;
    return run;
  };
  const Leaderboard board =
      Build({MakeBaseline("majority", 340), with_last(0, 700, 600), with_last(1, 100, 90)});
  EXPECT_DOUBLE_EQ(OnlyCell(board).value, 0.35);
  EXPECT_DOUBLE_EQ(OnlyCell(board).last_value.value(), 0.3);
}

TEST(LeaderboardTasksTest, AScoreOfAPartOfTheSplitIsLeftOut) {
  LocatedRecord part = MakeRun({.method = "relu"});
  part.record.mutable_results(0)->set_examples(64);
  SetCorrect(20, part.record.mutable_results(0));
  part.record.mutable_results(0)->set_split_examples(2000);
  const Leaderboard board = Build({MakeRun({}), part});
  EXPECT_EQ(OnlyCell(board).examples, 2000);
  EXPECT_THAT(board.left_out, ::testing::ElementsAre(
                                  "runs/listops-relu-s0: relu was scored on the first 64 of 2,000 "
                                  "test examples only (evaluation.scored_examples)"));
}

TEST(LeaderboardTasksTest, EarlyStopsPretrainingAndLargeModelsAreMarked) {
  LocatedRecord run = MakeRun({});
  run.record.mutable_config()->mutable_train()->set_early_stop_evaluations(3);
  run.record.add_curve()->set_step(149);
  EXPECT_EQ(OnlyCell(Build({run})).early_stopped_runs, 0);
  run.record.set_stopped_at_step(149);
  run.record.mutable_pretrain()->set_steps(500);
  run.record.set_transformer_parameters(100000);  // it has 123,456
  const Leaderboard board = Build({run});
  EXPECT_EQ(OnlyCell(board).early_stopped_runs, 1);
  EXPECT_EQ(OnlyCell(board).pretrain_steps, 500);
  EXPECT_NEAR(OnlyCell(board).parameter_excess.value(), 0.23456, 1e-12);
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr("1 run; pretrained 500 steps; stopped early; +23.5 % parameters |"),
                    HasSubstr("linear 0 (123,456 parameters, +23.5 % of the transformer's)")));
}

TEST(LeaderboardTasksTest, PretrainingIsToldInExamplesWhereTheyAreOnRecord) {
  LocatedRecord run = MakeRun({});
  run.record.mutable_pretrain()->set_steps(400);
  run.record.mutable_pretrain()->set_examples(12800);
  EXPECT_THAT(WriteLeaderboard(Build({run}), TableFormat::kMarkdown),
              HasSubstr("; pretrained 12,800 examples |"));
}

TEST(LeaderboardTasksTest, PredictionsThatWereChangedAreNamed) {
  const TestFolder folder;
  LocatedRecord run = MakeRun({});
  run.directory = folder.path();
  SplitResult& result = *run.record.mutable_results(0);
  result.set_predictions_file("predictions.npy");
  const std::string bytes(1 + 4 * result.examples() * run.record.spec().classes(), 'x');
  result.set_predictions_sha256(ToHex(Sha256Of(bytes)));
  const auto text = [&] { return WriteLeaderboard(Build({run}), TableFormat::kMarkdown); };
  EXPECT_THAT(text(), Not(HasSubstr("predictions.npy"))) << "records may be kept without them";
  ASSERT_TRUE(WriteFileAtomically(folder.File("predictions.npy"), bytes).ok());
  EXPECT_THAT(text(), Not(HasSubstr("predictions.npy")));
  ASSERT_TRUE(WriteFileAtomically(folder.File("predictions.npy"), bytes + "y").ok());
  EXPECT_THAT(text(), AllOf(HasSubstr("- listops: linear, seed 0: " +
                                      folder.File("predictions.npy") + ": was changed"),
                            HasSubstr("; the score shown is the record's.")));
}

TEST(LeaderboardTasksTest, BuildsThatShareAColumnAreNamed) {
  LocatedRecord a = MakeRun({.seed = 0}), b = MakeRun({.seed = 1});
  a.record.mutable_versions()->set_lra("0.1.0");
  a.record.mutable_versions()->set_commit("a35ade6");
  b.record.mutable_versions()->set_lra("0.1.0");
  b.record.mutable_versions()->set_commit("a35ade6");
  EXPECT_THAT(WriteLeaderboard(Build({a, b}), TableFormat::kMarkdown), Not(HasSubstr("build")));
  b.record.mutable_versions()->set_commit("d512fae-dirty");
  EXPECT_THAT(WriteLeaderboard(Build({a, b}), TableFormat::kMarkdown),
              HasSubstr("- listops: its rows were made by different builds: lra 0.1.0 "
                        "(a35ade6): linear; lra 0.1.0 (d512fae-dirty): linear. A build marked "
                        "dirty had changes that were not "
                        "committed.\n"));
  EXPECT_THAT(WriteLeaderboard(Build({b}), TableFormat::kMarkdown),
              HasSubstr("- listops: its rows were made by lra 0.1.0 (d512fae-dirty). A build "));
}

TEST(LeaderboardTasksTest, AnotherLibraryOrCompilerIsAnotherBuild) {
  LocatedRecord a = MakeRun({.method = "linear"}), b = MakeRun({.method = "relu"});
  for (LocatedRecord* run : {&a, &b}) {
    run->record.mutable_versions()->set_commit("a35ade6");
    run->record.mutable_versions()->set_libtorch("2.15.0");
    run->record.mutable_versions()->set_compiler("g++ 12.2.0");
  }
  EXPECT_THAT(Build({a, b}).tables[0].builds, IsEmpty());
  b.record.mutable_versions()->set_libtorch("2.11.0");
  EXPECT_THAT(Build({a, b}).tables[0].builds,
              ElementsAre("listops: its rows were made by different builds: lra 0.1.0 (a35ade6), "
                          "LibTorch 2.11.0: relu; lra 0.1.0 (a35ade6), LibTorch 2.15.0: linear."));
  a.record.mutable_versions()->set_libtorch("2.11.0");
  a.record.mutable_versions()->set_compiler("clang 14.0.6");
  EXPECT_THAT(Build({a, b}).tables[0].builds,
              ElementsAre(HasSubstr("(a35ade6), clang 14.0.6: linear; ")));
}

// A run that one build began and another went on with is of both.
TEST(LeaderboardTasksTest, ABuildBehindAnEarlierStretchIsNamed) {
  LocatedRecord run = MakeRun({.method = "linear"});
  run.record.mutable_versions()->set_commit("a35ade6");
  *run.record.add_stretch()->mutable_versions() = run.record.versions();
  EXPECT_THAT(Build({run}).tables[0].builds, IsEmpty());
  run.record.mutable_stretch(0)->mutable_versions()->set_commit("d512fae");
  const std::string text = WriteLeaderboard(Build({run}), TableFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("- listops: its rows were made by different builds: lra 0.1.0 "
                              "(a35ade6): linear; lra 0.1.0 (d512fae): linear.\n"));
  EXPECT_THAT(text, HasSubstr("- Made by lra 0.1.0 (a35ade6); lra 0.1.0 (d512fae).\n"));
}

TEST(LeaderboardTasksTest, ATenthMoreParametersIsAllowed) {
  LocatedRecord run = MakeRun({});
  run.record.set_parameters(110000);
  run.record.set_transformer_parameters(100000);
  EXPECT_THAT(WriteLeaderboard(Build({run}), TableFormat::kMarkdown),
              Not(HasSubstr("; +10.0 % parameters")));
  run.record.set_parameters(110001);
  EXPECT_THAT(WriteLeaderboard(Build({run}), TableFormat::kMarkdown),
              HasSubstr("; +10.0 % parameters"));
}

// Rows are found by the names of their folders, which are anybody's.
TEST(LeaderboardTasksTest, TheOrderOfFoldersDecidesNothing) {
  LocatedRecord one = MakeRun({.method = "one", .correct = 900, .kind = RunRecord::EXTERNAL});
  LocatedRecord two = MakeRun({.method = "two", .correct = 800, .kind = RunRecord::EXTERNAL});
  one.record.mutable_data()->set_view_fingerprint("v");
  two.record.mutable_data()->set_view_fingerprint("another");
  const LocatedRecord majority = MakeBaseline("majority", 340);
  const Leaderboard board = Build({one, majority, two});
  ASSERT_EQ(board.tables.size(), 2);
  for (const LeaderboardTable& table : board.tables) {
    ASSERT_EQ(table.rows.size(), 2);
    EXPECT_EQ(table.rows[0].method, "majority");
    EXPECT_EQ(table.rows[1].cells.at(0)->learned.runs_above, 1);
  }
  const std::string text = WriteLeaderboard(board, TableFormat::kMarkdown);
  EXPECT_EQ(WriteLeaderboard(Build({two, majority, one}), TableFormat::kMarkdown), text);
  EXPECT_EQ(WriteLeaderboard(Build({majority, two, one}), TableFormat::kMarkdown), text);
}

TEST(LeaderboardTasksTest, ExternalRowsJoinWhatSawTheSame) {
  LocatedRecord run = MakeRun({.correct = 800});
  run.record.mutable_data()->set_view_fingerprint("v");
  LocatedRecord mine = MakeRun({.method = "mine", .correct = 900, .kind = RunRecord::EXTERNAL});
  mine.record.mutable_data()->set_view_fingerprint("v");
  const Leaderboard joined = Build({run, mine, MakeBaseline("majority", 340)});
  ASSERT_EQ(joined.tables.size(), 1);
  EXPECT_EQ(joined.tables[0].rows.back().label, "mine");
  EXPECT_EQ(OnlyCell(joined).learned.runs_above, 1);

  mine.record.mutable_data()->set_view_fingerprint("another");
  EXPECT_EQ(Build({run, mine}).tables.size(), 2);
  mine.record.mutable_data()->set_view_fingerprint("v");
  (*mine.record.mutable_data()->mutable_split_fingerprint())["train"] = "another";
  EXPECT_EQ(Build({run, mine}).tables.size(), 2);
}

}  // namespace
}  // namespace lra
