#include "suite/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/json_text.h"
#include "nlohmann/json.hpp"
#include "suite/plan_test_util.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

SuiteCell Cell(const std::string& attention, uint32_t seed) {
  SuiteCell cell = CellOf(attention, seed);
  cell.config.set_preset("small");
  cell.config.set_protocol("fair@1");
  return cell;
}

class SuiteStateTest : public testing::Test {
 protected:
  void WriteRecord(const SuiteCell& cell, double wall_seconds, bool has_diverged) {
    RunRecord record;
    record.set_kind(RunRecord::MEASURED);
    record.set_method(cell.config.attention().name());
    record.set_seed(cell.seed);
    *record.mutable_config() = cell.config;
    *record.mutable_data() = cell.data;
    record.mutable_spec()->set_name("listops");
    record.mutable_efficiency()->set_wall_seconds(wall_seconds);
    record.add_curve()->set_step(100);
    if (has_diverged) {
      record.mutable_failure()->set_kind(RunFailure::DIVERGED);
      record.mutable_failure()->set_step(7);
      record.mutable_failure()->set_cause("the loss is not finite");
    }
    const std::string directory = RunDirectory(folder_.path(), cell);
    ASSERT_TRUE(MakeDirectories(directory).ok());
    ASSERT_TRUE(WriteRunRecord(directory, record).ok());
  }
  const std::vector<SuiteCell> cells_ = {Cell("linear", 0), Cell("linear", 1), Cell("relu", 0),
                                         Cell("relu", 1)};
  TestFolder folder_;
};

TEST_F(SuiteStateTest, IsReadFromTheFolders) {
  WriteRecord(cells_[0], 60, false);
  WriteRecord(cells_[2], 60, true);
  SuiteFailure failure;
  failure.set_exit_code(2);
  failure.set_message("no space left");
  ASSERT_TRUE(WriteFailure(folder_.path(), cells_[3], failure).ok());
  const std::vector<CellStatus> statuses = ReadStatuses(folder_.path(), cells_);
  EXPECT_EQ(statuses[0].state, CellState::kFinished);
  EXPECT_EQ(statuses[1].state, CellState::kWaiting);
  EXPECT_EQ(statuses[2].state, CellState::kDiverged);
  EXPECT_EQ(statuses[3].state, CellState::kFailed);
  EXPECT_FALSE(statuses[3].needs_mending);
  EXPECT_TRUE(IsLeft(statuses[1], false));
  EXPECT_FALSE(IsLeft(statuses[3], false));
  EXPECT_TRUE(IsLeft(statuses[3], true));
  const std::string text = StatusText(cells_, statuses);
  EXPECT_THAT(text, HasSubstr("relu-s1    failed    exit code 2: no space left"));
  EXPECT_THAT(text, HasSubstr("linear-s1  waiting"));
  EXPECT_EQ(SummaryText(statuses), "1 of 4 runs finished, 1 diverged, 1 failed, 1 left");
  const auto json = StatusJson(cells_, statuses);
  EXPECT_EQ(json["runs"][2]["state"], "diverged");
  ASSERT_TRUE(RemoveFailure(folder_.path(), cells_[3]).ok());
  EXPECT_EQ(ReadCellStatus(folder_.path(), cells_[3]).state, CellState::kWaiting);
}

// Its folder does not say how many steps it has.
TEST_F(SuiteStateTest, ARunBeforeItsFirstCheckpointHasTheStepsOfItsCell) {
  std::vector<CellStatus> statuses(1);
  statuses[0].state = CellState::kRunning;
  statuses[0].folder.checkpoint_step = 7;
  EXPECT_THAT(StatusText({cells_[0]}, statuses), HasSubstr("running   step 7 of 100\n"));
  // A part of a run, such as a trial, has others.
  statuses[0].folder.part = "trial 1 of 2";
  EXPECT_THAT(StatusText({cells_[0]}, statuses), HasSubstr("running   step 7\n"));
}

TEST_F(SuiteStateTest, NamesOfAnyAlphabetAreAligned) {
  const std::vector<SuiteCell> cells = {Cell("\u00fcbung", 0), Cell("linear", 0)};
  EXPECT_EQ(StatusText(cells, ReadStatuses(folder_.path(), cells)),
            "\u00fcbung-s0   waiting\n"
            "linear-s0  waiting\n");
}

TEST_F(SuiteStateTest, AKilledRunMayHaveLackedMemory) {
  SuiteFailure failure;
  failure.set_signal(11);
  failure.set_message("step 3");
  EXPECT_EQ(DescribeFailure(failure), "signal 11: step 3");
  failure.clear_message();
  EXPECT_EQ(DescribeFailure(failure), "signal 11");
  failure.set_message("step 3");
  failure.set_signal(9);
  EXPECT_EQ(DescribeFailure(failure),
            "signal 9 (killed: too little memory? fewer --workers, or on a cluster more "
            "--memory): step 3");
}

TEST_F(SuiteStateTest, AMessageSaysHowToAskForTheMemoryThatWasShort) {
  SuiteFailure failure;
  failure.set_signal(9);
  failure.set_message("step 3");
  failure.set_lacked_memory(true);
  EXPECT_EQ(DescribeFailure(failure),
            "signal 9 (killed for want of memory: --retry-failed with fewer --workers, or on a "
            "cluster with more --memory): step 3");
  failure.set_memory_bytes(int64_t{3814} << 20);  // as --memory 4GB asks for
  EXPECT_EQ(DescribeFailure(failure),
            "signal 9 (killed for want of memory, of which its job had 4.0 GB: --retry-failed with "
            "fewer --workers, or on a cluster with --memory 8GB): step 3");
  failure.set_memory_bytes(int64_t{100} << 20);
  EXPECT_THAT(DescribeFailure(failure), HasSubstr("its job had 105 MB"));
  EXPECT_THAT(DescribeFailure(failure), HasSubstr("--memory 1GB): step 3"));
}

// On a cluster the next process would be one of the same job.
TEST(IsWorthAnother, WhatWasKilledButForWantOfMemory) {
  CellStatus before, after;
  EXPECT_FALSE(IsWorthAnother(before, after));
  after.state = CellState::kFailed;
  after.failure.set_signal(9);
  EXPECT_TRUE(IsWorthAnother(before, after));
  after.failure.set_lacked_memory(true);
  EXPECT_FALSE(IsWorthAnother(before, after));
  after.failure.Clear();
  after.failure.set_exit_code(1);
  EXPECT_FALSE(IsWorthAnother(before, after));
  after.state = CellState::kRunning;
  EXPECT_TRUE(IsWorthAnother(before, after));
}

TEST_F(SuiteStateTest, WhatHasARecordHasEndedWhoeverHoldsItsFolder) {
  WriteRecord(cells_[0], 60, false);
  WriteRecord(cells_[2], 60, true);
  ASSERT_TRUE(MakeDirectories(RunDirectory(folder_.path(), cells_[1])).ok());
  const auto lock_of = [&](const SuiteCell& cell) {
    return FileLock::Acquire(JoinPath(RunDirectory(folder_.path(), cell), ".lock"));
  };
  const auto finished = lock_of(cells_[0]), begun = lock_of(cells_[1]),
             diverged = lock_of(cells_[2]);
  ASSERT_TRUE(finished.ok() && begun.ok() && diverged.ok());
  const std::vector<CellStatus> statuses = ReadStatuses(folder_.path(), cells_);
  EXPECT_EQ(statuses[0].state, CellState::kFinished);
  EXPECT_EQ(statuses[1].state, CellState::kRunning);
  EXPECT_EQ(statuses[2].state, CellState::kDiverged);
}

TEST_F(SuiteStateTest, WhatCannotBeReadIsThatRunsStateAlone) {
  WriteRecord(cells_[0], 60, false);
  WriteRecord(cells_[1], 60, false);
  const std::string path = JoinPath(RunDirectory(folder_.path(), cells_[0]), kRecordFile);
  ASSERT_TRUE(WriteFileAtomically(path, "method: 3 {").ok());
  SuiteFailure failure;
  ASSERT_TRUE(WriteFailure(folder_.path(), cells_[2], failure).ok());
  ASSERT_TRUE(
      WriteFileAtomically(JoinPath(folder_.path(), "failures/relu-s0.textproto"), "x").ok());
  const std::vector<CellStatus> statuses = ReadStatuses(folder_.path(), cells_);
  EXPECT_EQ(statuses[0].state, CellState::kFailed);
  EXPECT_THAT(statuses[0].failure.message(), HasSubstr(path));
  EXPECT_TRUE(statuses[0].needs_mending);
  EXPECT_EQ(statuses[1].state, CellState::kFinished);
  EXPECT_EQ(statuses[2].state, CellState::kFailed);
}

TEST_F(SuiteStateTest, ARecordOfOtherSettingsIsNotTheRuns) {
  WriteRecord(cells_[0], 60, false);
  std::vector<SuiteCell> changed = cells_;
  changed[0].config.mutable_train()->set_steps(200);
  const CellStatus status = ReadCellStatus(folder_.path(), changed[0]);
  EXPECT_EQ(status.state, CellState::kFailed);
  EXPECT_TRUE(status.needs_mending);
  EXPECT_THAT(status.failure.message(), HasSubstr("holds a run with other settings"));
}

TEST_F(SuiteStateTest, ARecordOfOtherDataIsNotTheRuns) {
  std::vector<SuiteCell> on_data = cells_;
  for (SuiteCell& cell : on_data) {
    (*cell.data.mutable_split_fingerprint())["train"] = "0123456789";
    (*cell.data.mutable_split_fingerprint())["test"] = "abcdefghij";
  }
  WriteRecord(on_data[0], 60, false);
  EXPECT_EQ(ReadCellStatus(folder_.path(), on_data[0]).state, CellState::kFinished);
  // Where the data is not known, as to `lra status`, nothing is compared.
  EXPECT_EQ(ReadCellStatus(folder_.path(), cells_[0]).state, CellState::kFinished);
  (*on_data[0].data.mutable_split_fingerprint())["test"] = "9876543210";
  const CellStatus status = ReadCellStatus(folder_.path(), on_data[0]);
  EXPECT_EQ(status.state, CellState::kFailed);
  EXPECT_THAT(status.failure.message(),
              HasSubstr("holds a run on other data (split test is abcdefgh, wanted is 98765432)"));
}

// Names tell earlier versions of a protocol from today's by digits (ExperimentName).
TEST_F(SuiteStateTest, ARunKeepsItsFolderWhenItsNameGetsDigits) {
  WriteRecord(cells_[0], 60, false);
  std::vector<SuiteCell> renamed = cells_;
  renamed[0].name = "linear-0123abcd-s0";
  EXPECT_EQ(RunDirectory(folder_.path(), renamed[0]), RunDirectory(folder_.path(), cells_[0]));
  EXPECT_EQ(ReadCellStatus(folder_.path(), renamed[0]).state, CellState::kFinished);
  // Not so another run that has no digits, nor one of which nothing is there.
  renamed[0].config.mutable_train()->set_steps(200);
  EXPECT_THAT(RunDirectory(folder_.path(), renamed[0]), HasSubstr("linear-0123abcd-s0"));
  renamed[1].name = "linear-0123abcd-s1";
  EXPECT_THAT(RunDirectory(folder_.path(), renamed[1]), HasSubstr("linear-0123abcd-s1"));
}

TEST_F(SuiteStateTest, AMessageOfAnyBytesIsPrintedAsJson) {
  SuiteFailure failure;
  failure.set_message("\xff\xfe");
  ASSERT_TRUE(WriteFailure(folder_.path(), cells_[0], failure).ok());
  const std::vector<CellStatus> statuses = ReadStatuses(folder_.path(), cells_);
  EXPECT_EQ(nlohmann::json::parse(JsonText(StatusJson(cells_, statuses)))["runs"][0]["state"],
            "failed");
}

}  // namespace
}  // namespace lra
