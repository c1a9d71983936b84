#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eval/leaderboard.h"
#include "eval/leaderboard_test_util.h"

namespace lra {
namespace {

using ::lra::testing::MakeRun;

Leaderboard Table(const std::vector<LocatedRecord>& runs) {
  auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, {}, {});
  EXPECT_TRUE(board.ok()) << board.status();
  return board.ok() ? *board : Leaderboard();
}

// One run of a table may name a rule that the others take from the protocol.
TEST(LeaderboardSettingsTest, SettingARuleToWhatTheProtocolSaysChangesNoTable) {
  LocatedRecord plain = MakeRun({.task = "text"});
  LocatedRecord by_hand = MakeRun({.method = "cosformer", .task = "text"});
  for (LocatedRecord* run : {&plain, &by_hand}) {
    run->record.mutable_config()->mutable_model()->set_pooling(ModelConfig::MEAN);
    (*run->record.mutable_provenance())["model.pooling"] = "protocol fair";
    ChangedRule* rule = run->record.add_changed_rule();
    rule->set_path("train.steps");
    rule->set_value("300");
  }
  (*by_hand.record.mutable_provenance())["model.pooling"] = "--set";
  const Leaderboard board = Table({plain, by_hand});
  ASSERT_EQ(board.tables.size(), 1);
  EXPECT_EQ(board.tables[0].rows.size(), 2);
  // A record that names no changed rule may be older than such names.
  by_hand.record.clear_changed_rule();
  EXPECT_EQ(Table({plain, by_hand}).tables.size(), 2);
}

// Runs of one task that all name the rule have overrides of their own; they split no other task.
TEST(LeaderboardSettingsTest, OrderOfTasksSplitsNoColumn) {
  std::vector<LocatedRecord> runs;
  for (const auto& [task, method, origin] :
       {std::tuple("text", "linear", "protocol fair"), std::tuple("text", "relu", "--set"),
        std::tuple("listops", "relu", "--set"), std::tuple("text", "cosformer", "--set")}) {
    LocatedRecord& run = runs.emplace_back(MakeRun({.method = method, .task = task}));
    run.record.mutable_config()->mutable_model()->set_pooling(ModelConfig::MEAN);
    (*run.record.mutable_provenance())["model.pooling"] = origin;
    ChangedRule* rule = run.record.add_changed_rule();
    rule->set_path("train.steps");
    rule->set_value("150");
  }
  const Leaderboard board = Table(runs);
  ASSERT_EQ(board.tables.size(), 1);
  EXPECT_EQ(board.tables[0].rows.size(), 3);
}

LocatedRecord WithRate(const std::string& task, double rate, const char* origin) {
  LocatedRecord run = MakeRun({.task = task});
  run.directory += origin;
  run.record.mutable_config()->mutable_schedule()->set_learning_rate(static_cast<float>(rate));
  (*run.record.mutable_provenance())["schedule.learning_rate"] = origin;
  ChangedRule* rule = run.record.add_changed_rule();
  rule->set_path("train.steps");
  rule->set_value("150");
  return run;
}

// A preset may change the rule: what somebody sets back to the protocol's is another setting.
TEST(LeaderboardSettingsTest, WhatAPresetChangesIsNoMatterOfTheProtocolAlone) {
  std::vector<LocatedRecord> runs;
  for (const char* task : {"listops", "text"}) {
    runs.push_back(WithRate(task, 0.001, "preset small under protocol fair"));
    runs.push_back(WithRate(task, 0.0005, "--set"));
  }
  std::swap(runs[2], runs[3]);  // the order of folders decides nothing
  const Leaderboard board = Table(runs);
  ASSERT_EQ(board.tables.size(), 2);
  for (const LeaderboardTable& table : board.tables) {
    EXPECT_EQ(table.tasks.size(), 2);
    EXPECT_NE(table.notes, board.tables[&table == &board.tables[0] ? 1 : 0].notes);
  }
}

}  // namespace
}  // namespace lra
