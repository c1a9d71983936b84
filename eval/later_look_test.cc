// Scores of later looks and the cells of runs.
#include "eval/later_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/leaderboard.h"
#include "eval/leaderboard_test_util.h"
#include "lra/fingerprint.h"

namespace lra {
namespace {

using ::lra::testing::MakeRun;
using ::testing::HasSubstr;

LocatedRecord Look() {
  LocatedRecord look = MakeRun({.seed = 1});
  look.directory = "evaluations/linear-s1";
  look.record.mutable_later_look();
  return look;
}

LocatedRecord OnOtherData() {
  LocatedRecord look = Look();
  auto& trained = *look.record.mutable_later_look()->mutable_trained_data();
  trained.set_origin("generated");
  (*trained.mutable_split_fingerprint())["train"] = "0123456789abcdef";
  (*trained.mutable_split_fingerprint())["test"] = "cccc";
  return look;
}

LocatedRecord AtOtherLength() {
  LocatedRecord look = Look();
  look.record.mutable_later_look()->set_trained_max_length_tokens(20);
  return look;
}

LocatedRecord OfStep(int64_t step) {
  LocatedRecord look = Look();
  look.record.mutable_later_look()->set_step(step);
  look.record.mutable_results(0)->set_checkpoint(absl::StrCat("step ", step));
  return look;
}

Leaderboard Build(const LocatedRecord& look) {
  auto board = BuildLeaderboard({.runs = {MakeRun({}), look}, .unfinished = {}}, {}, {});
  EXPECT_TRUE(board.ok()) << board.status();
  return board.ok() ? *board : Leaderboard();
}

std::string NotesOfSecond(const LocatedRecord& look) {
  const Leaderboard board = Build(look);
  if (board.tables.size() != 2) return "one table";
  return absl::StrCat(board.tables[1].differs, "\n", absl::StrJoin(board.tables[1].notes, "\n"));
}

TEST(LaterLookTest, ALookAtARunsOwnCheckpointAndDataIsAScoreOfTheRun) {
  const Leaderboard board = Build(Look());
  ASSERT_EQ(board.tables.size(), 1);
  EXPECT_EQ(board.tables[0].rows.at(0).cells.at(0)->seeds.size(), 2);
  EXPECT_EQ(CellFingerprintOf(Look().record), CellFingerprint(Look().record.config()));
}

TEST(LaterLookTest, WhatWasTrainedOtherwiseIsNoRunOfTheCell) {
  EXPECT_THAT(NotesOfSecond(OnOtherData()),
              HasSubstr("scored after training: trained on other data (training examples with "
                        "fingerprint 0123456789ab)."));
  EXPECT_THAT(NotesOfSecond(AtOtherLength()),
              HasSubstr("scored after training: trained at view.max_length_tokens=20."));
  EXPECT_THAT(NotesOfSecond(OfStep(10)), HasSubstr("step 10 was scored, which is not known to be"));
  EXPECT_THAT(NotesOfSecond(OfStep(0)), HasSubstr("step 0 was scored"));
}

TEST(LaterLookTest, EachDepartureHasACellOfItsOwn) {
  const std::string own = CellFingerprintOf(MakeRun({}).record);
  std::vector<std::string> others;
  for (const LocatedRecord& look : {OnOtherData(), AtOtherLength(), OfStep(10), OfStep(20)})
    others.push_back(CellFingerprintOf(look.record));
  EXPECT_EQ(std::set<std::string>(others.begin(), others.end()).size(), 4);
  EXPECT_THAT(others, ::testing::Not(::testing::Contains(own)));
}

// What was trained and selected on tells models apart, not what they could have been scored on.
TEST(LaterLookTest, ADepartureNamesTheDataOfTrainingAlone) {
  const LaterLook departure = DepartureOf(OnOtherData().record);
  EXPECT_EQ(departure.trained_data().split_fingerprint_size(), 1);
  EXPECT_TRUE(departure.trained_data().origin().empty());
}

// A weights file outside of its run does not say what set its fields.
TEST(LaterLookTest, WithoutProvenanceItIsNotKnownWhatWasOverridden) {
  LocatedRecord lone = Look();
  lone.record.clear_provenance();
  auto board = BuildLeaderboard({.runs = {lone}, .unfinished = {}}, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  EXPECT_THAT(absl::StrJoin(board->tables.at(0).notes, "\n"),
              HasSubstr(", what was overridden is not on record; "));
}

}  // namespace
}  // namespace lra
