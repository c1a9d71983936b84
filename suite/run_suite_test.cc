#include "suite/run_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/textproto.h"
#include "suite/estimates.h"
#include "suite/plan_test_util.h"
#include "suite/times.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(FlagsOfWorker, NameItsDevice) {
  SuiteRunOptions options;
  EXPECT_EQ(DeviceOf(options), "cpu");
  EXPECT_THAT(FlagsOfWorker(options, 1), ElementsAre());
  options.train_flags = {"--graphs", "on", "--device", "cuda"};
  EXPECT_EQ(DeviceOf(options), "cuda");
  EXPECT_EQ(DeviceKind(options), "cuda");
  EXPECT_EQ(ValueOfFlag(options, "--graphs"), "on");
  EXPECT_EQ(ValueOfFlag(options, "--kernels"), "");
  EXPECT_THAT(FlagsOfWorker(options, 1), ElementsAre("--graphs", "on", "--device", "cuda"));
  options.train_flags.back() = "cuda:1";
  EXPECT_EQ(DeviceKind(options), "cuda");
  options.train_flags.back() = "cuda";
  options.device_of_worker = [](const std::string& device, int64_t place) {
    return absl::StrCat(device, ":", place % 2);
  };
  EXPECT_THAT(FlagsOfWorker(options, 3), ElementsAre("--graphs", "on", "--device", "cuda:1"));
}

// The cards of workers 0 .. count - 1 of part k (--shard k/n), on a machine of four.
std::string CardsOfPart(int k, int workers, int count) {
  SuiteRunOptions options;
  options.train_flags = {"--device", "cuda"};
  options.part = k;
  options.workers = workers;
  options.device_of_worker = [](const std::string&, int64_t place) {
    return absl::StrCat(place % 4);
  };
  std::string cards;
  for (int worker = 0; worker < count; ++worker) cards += FlagsOfWorker(options, worker).back();
  return cards;
}

TEST(FlagsOfWorker, PartsOnOneMachineBeginWithOtherCards) {
  EXPECT_EQ(CardsOfPart(0, 1, 1) + CardsOfPart(1, 1, 1) + CardsOfPart(2, 1, 1) +
                CardsOfPart(3, 1, 1) + CardsOfPart(4, 1, 1),
            "01230");
  EXPECT_EQ(CardsOfPart(0, 2, 2), "01");
  EXPECT_EQ(CardsOfPart(1, 2, 2), "23");
  EXPECT_EQ(CardsOfPart(0, 6, 6), "012301");
  EXPECT_EQ(CardsOfPart(1, 6, 6), "230123") << "each card has three of the twelve";
  // Nobody said how many workers a part has.
  EXPECT_EQ(CardsOfPart(0, 0, 3), "012");
  EXPECT_EQ(CardsOfPart(1, 0, 3), "123");
  // Products of large numbers do not overflow.
  EXPECT_EQ(CardsOfPart(2000000001, 6, 1), "2");
}

class PlanSuiteTest : public testing::Test {
 protected:
  // Nothing of the run is in the folder but that it has ended, and what it took with others.
  void Finished(const SuiteCell& cell, int runs) {
    RunRecord record;
    record.set_kind(RunRecord::MEASURED);
    record.set_method(cell.config.attention().name());
    record.set_seed(cell.seed);
    *record.mutable_config() = cell.config;
    record.mutable_spec()->set_name("listops");
    record.add_curve()->set_step(100);
    const std::string directory = RunDirectory(folder_.path(), cell);
    ASSERT_TRUE(MakeDirectories(directory).ok());
    ASSERT_TRUE(WriteRunRecord(directory, record).ok());
    SuiteTime took;
    took.set_device("cpu");
    took.set_wall_seconds(20);
    took.set_runs_at_once(runs);
    ASSERT_EQ(AddTime(folder_.path(), cell, CellStatus(), At(CellState::kFinished, 100), took),
              absl::OkStatus());
  }

  const std::vector<SuiteCell> cells_ = {CellOf("relu", 0), CellOf("linear", 0), CellOf("relu", 1),
                                         CellOf("linear", 1)};
  TestFolder folder_;
};

TEST_F(PlanSuiteTest, EachCellIsMeasuredOnceAndKept) {
  SuiteRunOptions options;
  options.program =
      Program(folder_, absl::StrCat("echo x >> ", folder_.path(), "/count\n",
                                    R"(echo '{"wall_seconds": 30, "diskBytes": "5", "runs": 1, )"
                                    R"("wall_seconds_one_after_the_other": 30}')"));
  options.out = folder_.path() + "/out";
  options.workers = 2;
  options.is_quiet = true;
  const auto count = [&] { return ReadFile(folder_.path() + "/count").value_or("").size() / 2; };
  auto planned = PlanSuite(cells_, options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(count(), 2);
  EXPECT_DOUBLE_EQ(planned->plan.wall_seconds, 60);
  ASSERT_TRUE(PlanSuite(cells_, options).ok());
  EXPECT_EQ(count(), 2);
  // Other data: measured anew.
  options.data_of_task["listops"] = "digest";
  ASSERT_TRUE(PlanSuite(cells_, options).ok());
  EXPECT_EQ(count(), 4);
  // Less to score, another device: measured anew, and kept.
  options.train_flags = {"--no-last"};
  ASSERT_TRUE(PlanSuite(cells_, options).ok());
  EXPECT_EQ(count(), 6);
  ASSERT_TRUE(PlanSuite(cells_, options).ok());
  EXPECT_EQ(count(), 6);
  options.train_flags = {"--device", "fake"};
  ASSERT_TRUE(PlanSuite(cells_, options).ok());
  EXPECT_EQ(count(), 8);
  EXPECT_THAT(ReadEstimates(options.out, cells_), SizeIs(2));
  // What a plan that measures nothing takes is not of another device, either.
  options.measures = false;
  EXPECT_EQ(PlanSuite(cells_, options)->plan.unknown, 0);
  options.train_flags = {"--device", "cuda:1"};
  EXPECT_EQ(PlanSuite(cells_, options)->plan.unknown, 4);
}

// So it is with `--executor slurm --time 2h` in a folder of an earlier build, without a device.
TEST_F(PlanSuiteTest, AnEstimateOfBeforeHoldsWhereNothingIsMeasured) {
  SuiteRunOptions options;
  options.out = folder_.path() + "/out";
  options.is_quiet = true;
  options.measures = false;
  ASSERT_EQ(MakeDirectories(options.out + "/plan"), absl::OkStatus());
  for (const char* name : {"relu", "linear"}) {
    ASSERT_EQ(WriteFileAtomically(absl::StrCat(options.out, "/plan/", name, ".textproto"),
                                  ToTextProto(Estimate(40, 300))),
              absl::OkStatus());
  }
  const auto planned = PlanSuite(cells_, options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.unknown, 0);
  EXPECT_EQ(planned->plan.runs[0].cost->memory_bytes, 300);
}

TEST_F(PlanSuiteTest, SeedsSideBySideAreSaidToBeGuessed) {
  SuiteRunOptions options;
  options.program = Program(folder_, R"(echo '{"wall_seconds": 30}')");
  options.out = folder_.path();
  options.at_once = 2;
  const auto note = [&] {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(PlanSuite(cells_, options).ok());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(note(), HasSubstr("seeds side by side (--at-once 2) were not measured"));
  // Seeds that have finished side by side tell what others take.
  Finished(cells_[0], 2);
  EXPECT_THAT(note(), HasSubstr("side by side")) << "linear was measured alone";
  Finished(cells_[1], 2);
  EXPECT_THAT(note(), Not(HasSubstr("side by side")));
}

TEST_F(PlanSuiteTest, WhatCannotBeMeasuredIsSaid) {
  SuiteRunOptions options;
  options.program = Program(folder_, "echo no data >&2; exit 2");
  options.out = folder_.path() + "/out";
  options.is_quiet = true;
  const auto planned = PlanSuite(cells_, options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.unknown, 4);
  EXPECT_EQ(planned->failures.at("relu"), "no data");
}

TEST_F(PlanSuiteTest, NoProcessIsStartedForATaskWithoutData) {
  SuiteRunOptions options;
  options.program = Program(folder_, absl::StrCat("echo x >> ", folder_.path(), "/started"));
  options.out = folder_.path() + "/out";
  options.is_quiet = true;
  options.not_measured["listops"] = "no data set";
  const auto planned = PlanSuite(cells_, options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(FileExists(folder_.path() + "/started"));
  EXPECT_EQ(planned->plan.unknown, 4);
  EXPECT_EQ(planned->failures.at("relu"), "no data set");
  EXPECT_EQ(planned->failures.at("linear"), "no data set");
}

TEST_F(PlanSuiteTest, MemoryForFewerIsSaidOrAskedFor) {
  SuiteRunOptions options;
  options.program =
      Program(folder_, absl::StrCat(R"(echo '{"wall_seconds": 30, "peakMemoryBytes": ")",
                                    int64_t{1} << 50, R"("}')"));
  options.out = folder_.path() + "/out";
  options.is_quiet = true;
  const auto planned = PlanSuite(cells_, options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->fits_memory.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(planned->fits_memory.message()),
              HasSubstr("the largest fits on no worker"));
  // Two seeds of each of two cells.
  options.workers = 2;
  options.at_once = 8;
  EXPECT_THAT(std::string(PlanSuite(cells_, options)->fits_memory.message()),
              AllOf(HasSubstr("4 runs at once take "), HasSubstr("lower --at-once")));
}

}  // namespace
}  // namespace lra
