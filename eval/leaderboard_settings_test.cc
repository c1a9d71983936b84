#include <gtest/gtest.h>

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
  // A rule that is changed, a size, and whatever an older record says count.
  by_hand.record.clear_changed_rule();
  EXPECT_EQ(Table({plain, by_hand}).tables.size(), 2);
}

}  // namespace
}  // namespace lra
