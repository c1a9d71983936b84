#include "suite/reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/folder_test_util.h"
#include "suite/plan_test_util.h"
#include "suite/state.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

SuiteCell RunCell(const std::string& attention, uint32_t seed) {
  SuiteCell cell = CellOf(attention, seed);
  (*cell.data.mutable_split_fingerprint())["train"] = "0123456789";
  return cell;
}

class ReuseTest : public testing::Test {
 protected:
  void WriteRun(const std::string& folder, const SuiteCell& cell, bool has_diverged = false) {
    RunRecord record;
    record.set_kind(RunRecord::MEASURED);
    record.set_method(cell.config.attention().name());
    record.set_seed(cell.seed);
    *record.mutable_config() = cell.config;
    *record.mutable_data() = cell.data;
    record.mutable_spec()->set_name("listops");
    if (has_diverged) record.mutable_failure()->set_kind(RunFailure::DIVERGED);
    const std::string directory = JoinPath(folder, cell.name);
    ASSERT_TRUE(MakeDirectories(JoinPath(directory, "maps")).ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(directory, "maps/a.txt"), folder).ok());
    ASSERT_TRUE(WriteRunRecord(directory, record).ok());
  }
  std::vector<std::string> Names(const std::vector<std::string>& folders) {
    const auto runs = FindReusableRuns(folders, out_, cells_);
    EXPECT_TRUE(runs.ok()) << runs.status();
    std::vector<std::string> names;
    for (const ReusableRun& run : *runs) names.push_back(run.cell.name);
    return names;
  }
  const std::vector<SuiteCell> cells_ = {RunCell("linear", 0), RunCell("linear", 1),
                                         RunCell("relu", 0)};
  TestFolder folder_;
  const std::string runs_ = JoinPath(folder_.path(), "runs"), other_ = JoinPath(runs_, "other"),
                    out_ = JoinPath(runs_, "mine");
};

TEST_F(ReuseTest, FindsWhatAnotherSuiteHasFinished) {
  WriteRun(other_, cells_[0]);
  WriteRun(other_, cells_[2], /*has_diverged=*/true);
  const std::vector<std::string> expected = {"linear-s0", "relu-s0"};
  EXPECT_EQ(Names({other_}), expected);
  EXPECT_EQ(Names({runs_}), expected) << "or a folder of suites";
  EXPECT_TRUE(Names({}).empty());
}

// `lra train --out` gives any name; what the run is counts.
TEST_F(ReuseTest, ARunIsKnownUnderAnotherName) {
  SuiteCell by_hand = cells_[0], other = cells_[1];
  by_hand.name = "mine";
  other.name = "elsewhere";
  other.config.mutable_train()->set_steps(200);
  WriteRun(other_, by_hand);
  WriteRun(other_, other);
  EXPECT_EQ(Names({other_}), std::vector<std::string>{"linear-s0"});
  const auto runs = FindReusableRuns({JoinPath(other_, "mine/")}, out_, cells_);
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 1u);
  ASSERT_TRUE(*TakeRun(runs->front(), out_));
  EXPECT_EQ(ReadCellStatus(out_, cells_[0]).state, CellState::kFinished);
}

TEST_F(ReuseTest, ARunIsTakenWholeAndOnce) {
  WriteRun(other_, cells_[0]);
  const auto runs = FindReusableRuns({runs_}, out_, cells_);
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 1);
  ASSERT_TRUE(*TakeRun(runs->front(), out_));
  EXPECT_EQ(ReadCellStatus(out_, cells_[0]).state, CellState::kFinished);
  EXPECT_EQ(*ReadFile(JoinPath(out_, "linear-s0/maps/a.txt")), other_);
  EXPECT_EQ(ReadCellStatus(other_, cells_[0]).state, CellState::kFinished);
  EXPECT_TRUE(Names({runs_}).empty());
  EXPECT_FALSE(*TakeRun(runs->front(), out_)) << "what is there stays";
}

// They are no part of the cell where each seed has its own.
TEST_F(ReuseTest, AnEncoderWithOtherWeightsMakesAnotherRun) {
  SuiteCell here = cells_[0], there = cells_[0];
  for (SuiteCell* cell : {&here, &there}) cell->config.set_encoder_recipe("5e");
  here.config.set_encoder_weights_sha256("1a");
  there.config.set_encoder_weights_sha256("2b");
  ASSERT_EQ(CellFingerprint(here.config), CellFingerprint(there.config));
  WriteRun(other_, there);
  EXPECT_THAT(*FindReusableRuns({other_}, out_, {here}), testing::IsEmpty());
  EXPECT_EQ(FindReusableRuns({other_}, out_, {there})->size(), 1u);
  const CellStatus status = ReadCellStatus(other_, here);
  EXPECT_TRUE(status.needs_mending);
  EXPECT_THAT(status.failure.message(), HasSubstr("began from other weights (2b; wanted 1a)"));
}

TEST_F(ReuseTest, OtherSettingsSeedsOrDataAreOtherRuns) {
  SuiteCell longer = cells_[0], reseeded = cells_[1], elsewhere = cells_[2];
  longer.config.mutable_train()->set_steps(200);
  reseeded.config.set_seed(7);
  (*elsewhere.data.mutable_split_fingerprint())["train"] = "9876543210";
  for (const SuiteCell& cell : {longer, reseeded, elsewhere}) WriteRun(other_, cell);
  EXPECT_TRUE(Names({other_}).empty());
}

TEST_F(ReuseTest, WhatIsBegunHereStaysHere) {
  WriteRun(other_, cells_[0]);
  ASSERT_TRUE(MakeDirectories(JoinPath(out_, cells_[0].name)).ok());
  EXPECT_TRUE(Names({other_}).empty());
}

// Who holds the run there, and what a killed process left, does not come along.
TEST_F(ReuseTest, LocksStayBehind) {
  WriteRun(other_, cells_[0]);
  const std::string directory = JoinPath(other_, cells_[0].name);
  for (const char* name : {".lock", ".lease-host-7", "curve.jsonl.tmp-12-3"})
    ASSERT_TRUE(WriteFileAtomically(JoinPath(directory, name), "").ok());
  ASSERT_TRUE(*TakeRun({cells_[0], directory}, out_));
  EXPECT_TRUE(FileExists(JoinPath(out_, "linear-s0/record.textproto")));
  for (const char* name : {".lock", ".lease-host-7", "curve.jsonl.tmp-12-3"})
    EXPECT_FALSE(FileExists(JoinPath(out_, absl::StrCat("linear-s0/", name)))) << name;
}

TEST_F(ReuseTest, WhatCannotBeLookedAtHoldsNoRun) {
  WriteRun(other_, cells_[0]);
  std::filesystem::create_directory_symlink("loop", JoinPath(runs_, "loop"));
  EXPECT_EQ(Names({runs_}), std::vector<std::string>{"linear-s0"});
}

TEST_F(ReuseTest, AFolderThatIsNotThereIsNamed) {
  const auto runs = FindReusableRuns({JoinPath(runs_, "nosuch")}, out_, cells_);
  EXPECT_TRUE(absl::IsNotFound(runs.status())) << runs.status();
  EXPECT_THAT(std::string(runs.status().message()), HasSubstr("nosuch"));
}

}  // namespace
}  // namespace lra
