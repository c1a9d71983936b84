// Tables of chosen tasks and methods.
#include "eval/chosen_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/leaderboard_test_util.h"

namespace lra {
namespace {

using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PublishedTable Published() {
  PublishedTable published;
  published.set_name("paper");
  published.set_evidence_class("P");
  for (const char* method : {"linear", "performer"}) {
    PublishedRow* row = published.add_rows();
    row->set_method(method);
    row->set_label(method);
    PublishedCell* cell = row->add_cells();
    cell->set_column("image");
    cell->set_value(60);
  }
  return published;
}

// Linear on both tasks, cosformer and the transformer on one each; a majority class for all three.
std::vector<LocatedRecord> Runs() {
  std::vector<LocatedRecord> runs;
  for (const char* task : {"listops", "text", "image"})
    runs.push_back(MakeBaseline("majority", 300, task));
  for (const char* task : {"listops", "image"})
    runs.push_back(MakeRun({.method = "linear", .task = task}));
  runs.push_back(MakeRun({.method = "cosformer", .task = "image"}));
  runs.push_back(MakeRun({.method = "transformer", .task = "listops"}));
  return runs;
}

absl::StatusOr<Leaderboard> Build(std::vector<std::string> tasks, std::vector<std::string> methods,
                                  std::vector<LocatedRecord> runs = Runs()) {
  LeaderboardOptions options;
  options.tasks = std::move(tasks);
  options.methods = std::move(methods);
  return BuildLeaderboard({.runs = std::move(runs), .unfinished = {}}, {Published()}, options);
}

std::vector<std::string> Labels(const LeaderboardTable& table) {
  std::vector<std::string> labels;
  for (const LeaderboardRow& row : table.rows) labels.push_back(row.label);
  return labels;
}

TEST(ChosenRowsTest, BaselinesStayAndANoteSaysWhatWasChosen) {
  const auto board = Build({"image"}, {"linear", "cosformer"});
  ASSERT_TRUE(board.ok()) << board.status();
  ASSERT_EQ(board->tables.size(), 1);
  const LeaderboardTable& table = board->tables[0];
  EXPECT_THAT(table.tasks, ElementsAre("image"));
  EXPECT_THAT(Labels(table), ElementsAre("majority", "cosformer", "linear"));
  ASSERT_EQ(table.published.size(), 1);
  EXPECT_EQ(table.published[0].rows.size(), 1);
  // Both of the task's methods are there, so only the task was a choice.
  EXPECT_THAT(table.notes, Contains(AllOf(HasSubstr("Chosen: tasks image (of 3); baselines stay"),
                                          Not(HasSubstr("methods")))));
}

TEST(ChosenRowsTest, BaselinesOfOtherColumnsGo) {
  const auto board = Build({}, {"cosformer"});
  ASSERT_TRUE(board.ok()) << board.status();
  ASSERT_EQ(board->tables.size(), 1);
  EXPECT_THAT(board->tables[0].tasks, ElementsAre("image"));
  EXPECT_THAT(board->tables[0].published, IsEmpty());
  EXPECT_THAT(board->tables[0].notes,
              Contains(AllOf(HasSubstr("methods cosformer (of 3)"),
                             HasSubstr("Published paper: no row of these methods."))));
}

// Settings that keep columns apart do so whatever rows are shown.
TEST(ChosenRowsTest, AChoiceUnitesNoTables) {
  std::vector<LocatedRecord> runs = Runs();
  for (LocatedRecord& run : runs) {
    if (run.record.kind() == RunRecord::MEASURED && run.record.data().task() == "image") {
      run.record.mutable_config()->mutable_train()->set_steps(300);
      if (run.record.method() == "cosformer") run.record.mutable_config()->set_preset("other");
    }
  }
  const auto whole = Build({}, {}, runs), chosen = Build({}, {"linear"}, runs);
  ASSERT_TRUE(whole.ok() && chosen.ok()) << whole.status() << chosen.status();
  const auto averages = [](const Leaderboard& board) {
    int count = 0;
    for (const LeaderboardTable& table : board.tables) {
      for (const LeaderboardRow& row : table.rows) count += row.method == "linear" && row.average;
    }
    return count;
  };
  EXPECT_EQ(averages(*chosen), averages(*whole));
}

TEST(ChosenRowsTest, WhatLeavesNothingOutIsNoChoice) {
  for (const auto& methods : {std::vector<std::string>(), {"linear", "cosformer", "transformer"}}) {
    const auto board = Build({}, methods);
    ASSERT_TRUE(board.ok()) << board.status();
    EXPECT_THAT(Labels(board->tables[0]), Contains("transformer"));
    EXPECT_THAT(board->tables[0].notes, Not(Contains(HasSubstr("Chosen"))));
  }
}

TEST(ChosenRowsTest, NamesOfNoRowAreRefused) {
  const absl::Status task = Build({"lisops"}, {}).status();
  EXPECT_EQ(task.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(task.ToString(), AllOf(HasSubstr("lisops"), HasSubstr("listops")));
  EXPECT_EQ(Build({}, {"majority"}).status().code(), absl::StatusCode::kInvalidArgument);
  // A method of published rows alone is known, but has no run.
  EXPECT_EQ(Build({}, {"performer"}).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace lra
