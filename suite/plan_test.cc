#include "suite/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "nlohmann/json.hpp"
#include "suite/estimates.h"
#include "suite/plan_test_util.h"
#include "suite/times.h"

namespace lra {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PlanTest : public testing::Test {
 protected:
  // A process that trained the run from one step to another.
  void Trained(size_t i, CellStatus before, CellStatus after, double seconds, int runs = 1) {
    SuiteTime took;
    took.set_wall_seconds(seconds);
    took.set_cpu_seconds(seconds / 4);
    took.set_peak_memory_bytes(7);
    took.set_runs_at_once(runs);
    took.set_device(device_);
    ASSERT_EQ(AddTime(folder_.path(), cells_[i], before, after, took), absl::OkStatus());
    statuses_[i] = after;
  }
  SuitePlan Plan(int workers, int at_once = 1) {
    return PlanWith({.workers = workers, .at_once = at_once});
  }
  SuitePlan PlanWith(const PlanOptions& options) {
    return MakePlan(folder_.path(), cells_, statuses_, estimates_, options);
  }
  std::string device_ = "cpu";
  const std::vector<SuiteCell> cells_ = {CellOf("relu", 0), CellOf("linear", 0), CellOf("relu", 1),
                                         CellOf("linear", 1)};
  std::vector<CellStatus> statuses_ = std::vector<CellStatus>(4);
  EstimateOfCell estimates_ = {{"relu", Estimate(40, 300)}, {"linear", Estimate(10, 200)}};
  TestFolder folder_;
};

TEST_F(PlanTest, AddsUpWhatIsLeft) {
  SuitePlan plan = Plan(1);
  EXPECT_EQ(plan.left, 4);
  EXPECT_DOUBLE_EQ(plan.wall_seconds, 100);
  EXPECT_DOUBLE_EQ(plan.cpu_seconds, 50);
  EXPECT_EQ(plan.memory_bytes, 300);
  EXPECT_EQ(plan.disk_bytes, 4000);
  // One worker trains relu (40), the other linear (10), relu (40): then linear (10) goes to the
  // first.
  plan = Plan(2);
  EXPECT_DOUBLE_EQ(plan.wall_seconds, 50);
  EXPECT_EQ(plan.memory_bytes, 600);
  // A quarter of a run is left; one that failed is not.
  statuses_[0] = At(CellState::kStopped, 75);
  statuses_[1] = At(CellState::kFailed, 0);
  plan = Plan(1);
  EXPECT_EQ(plan.left, 3);
  EXPECT_DOUBLE_EQ(plan.wall_seconds, 10 + 40 + 10);
  EXPECT_EQ(PlanWith({.retries_failed = true}).left, 4);
}

// Scoring is begun anew where it was interrupted.
TEST_F(PlanTest, ARunThatIsToBeScoredIsNotOver) {
  statuses_.assign(4, At(CellState::kFailed, 0));
  statuses_[0] = At(CellState::kStopped, 100);
  EXPECT_DOUBLE_EQ(Plan(1).wall_seconds, 40) << "nobody knows how long scoring takes";
  estimates_["relu"].mutable_estimate()->set_score_seconds(10);
  EXPECT_DOUBLE_EQ(Plan(1).wall_seconds, 10);
  statuses_[0] = At(CellState::kStopped, 90);
  EXPECT_DOUBLE_EQ(Plan(1).wall_seconds, 10 + 0.1 * 30);
  statuses_[0] = At(CellState::kStopped, 50);
  EXPECT_DOUBLE_EQ(Plan(1).wall_seconds, 10 + 0.5 * 30);
}

// 300 of the 1,000 bytes are a checkpoint that is being written.
TEST_F(PlanTest, OnlyWorkersWriteCheckpoints) {
  for (auto& [name, estimate] : estimates_)
    estimate.mutable_estimate()->add_stage()->set_checkpoint_bytes(300);
  EXPECT_EQ(Plan(1).disk_bytes, 4 * 700 + 300);
  EXPECT_EQ(Plan(3).disk_bytes, 4 * 700 + 900);
  EXPECT_EQ(Plan(9).disk_bytes, 4000);
}

TEST_F(PlanTest, AFinishedRunSaysWhatOthersOfItsCellTake) {
  Trained(0, At(CellState::kWaiting, 0), At(CellState::kStopped, 50), 11);
  Trained(0, At(CellState::kStopped, 50), At(CellState::kFinished, 100), 13);
  const SuitePlan plan = Plan(1);
  EXPECT_DOUBLE_EQ(plan.runs[2].cost->wall_seconds, 24);
  EXPECT_DOUBLE_EQ(plan.runs[2].cost->cpu_seconds, 6);
  EXPECT_EQ(plan.runs[2].cost->memory_bytes, 7);
  EXPECT_EQ(plan.runs[2].cost->disk_bytes, 1000);
  EXPECT_EQ(plan.runs[2].cost->finished_runs, 1);
  EXPECT_DOUBLE_EQ(plan.runs[1].cost->wall_seconds, 10);
  EXPECT_DOUBLE_EQ(plan.wall_seconds, 10 + 24 + 10);
  EXPECT_EQ(PredictionErrorText(folder_.path(), cells_, statuses_, estimates_),
            "1 run took 24.0 s, predicted were 40.0 s (-40.0 %; single runs -40.0 % to -40.0 %)");
}

TEST_F(PlanTest, ARunOfAnotherDeviceSaysNothing) {
  Trained(0, At(CellState::kWaiting, 0), At(CellState::kFinished, 100), 24);
  EXPECT_DOUBLE_EQ(PlanWith({.device = "cpu"}).runs[2].cost->wall_seconds, 24);
  EXPECT_DOUBLE_EQ(PlanWith({.device = "cuda"}).runs[2].cost->wall_seconds, 40);
  // Begun on one device and ended on another.
  Trained(0, At(CellState::kWaiting, 0), At(CellState::kStopped, 50), 11);
  device_ = "cuda";
  Trained(0, At(CellState::kStopped, 50), At(CellState::kFinished, 100), 13);
  EXPECT_FALSE(WholeTime(folder_.path(), cells_[0], statuses_[0]));
}

// Earlier builds noted no device; a finished run's record says it.
TEST_F(PlanTest, TheRecordTellsTheDeviceOfATimeOfBefore) {
  device_ = "";
  Trained(0, At(CellState::kWaiting, 0), At(CellState::kFinished, 100), 24);
  EXPECT_DOUBLE_EQ(PlanWith({.device = "cpu"}).runs[2].cost->wall_seconds, 24);
  EXPECT_DOUBLE_EQ(PlanWith({.device = "cuda"}).runs[2].cost->wall_seconds, 40);
  statuses_[0].folder.record.mutable_machine()->set_device("NVIDIA H200");
  EXPECT_DOUBLE_EQ(PlanWith({.device = "cpu"}).runs[2].cost->wall_seconds, 40);
  EXPECT_DOUBLE_EQ(PlanWith({.device = "cuda"}).runs[2].cost->wall_seconds, 24);
  // Begun by an earlier build, and ended by this one.
  Trained(1, At(CellState::kWaiting, 0), At(CellState::kStopped, 50), 11);
  device_ = "cuda";
  Trained(1, At(CellState::kStopped, 50), At(CellState::kFinished, 100), 13);
  const std::optional<SuiteTime> time = WholeTime(folder_.path(), cells_[1], statuses_[1]);
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->wall_seconds(), 24);
  EXPECT_EQ(time->device(), "cuda");
}

// A process with three runs of the cell took 21 bytes.
TEST_F(PlanTest, AShareOfMemoryIsNotThatOfARunAlone) {
  Trained(0, At(CellState::kWaiting, 0), At(CellState::kFinished, 100), 24, 3);
  estimates_.erase("linear");
  EXPECT_EQ(Plan(1).memory_bytes, 21);
  EXPECT_EQ(Plan(1, 3).memory_bytes, 21) << "one is left";
  const RunCost cost = *Plan(1).runs[2].cost;
  EXPECT_EQ(cost.process_memory_bytes(2), 21);
  EXPECT_EQ(cost.process_memory_bytes(3), 21);
  EXPECT_EQ(cost.process_memory_bytes(4), 28);
}

TEST_F(PlanTest, SeedsOfACellInOneProcessTakeTheirMemoryTogether) {
  EXPECT_EQ(Plan(1, 2).memory_bytes, 300 + 300);
  EXPECT_EQ(Plan(1, 3).memory_bytes, 300 + 300) << "the cell has two runs";
  EXPECT_EQ(Plan(2, 2).memory_bytes, 600 + 400);
  EXPECT_EQ(WorkersThatFit(Plan(2, 2), 999), 1);
  EXPECT_EQ(WorkersThatFit(Plan(2, 2), 599), 0);
}

TEST_F(PlanTest, ATimeWithStepsThatNobodySawIsNoTime) {
  Trained(0, At(CellState::kWaiting, 0), At(CellState::kStopped, 50), 11);
  Trained(0, At(CellState::kStopped, 60), At(CellState::kFinished, 100), 13);
  Trained(2, At(CellState::kStopped, 5), At(CellState::kFinished, 100), 13);
  EXPECT_FALSE(WholeTime(folder_.path(), cells_[0], statuses_[0]));
  EXPECT_FALSE(WholeTime(folder_.path(), cells_[2], statuses_[2]));
  EXPECT_THAT(PredictionErrorText(folder_.path(), cells_, statuses_, estimates_), IsEmpty());
  // Begun anew, it is whole again.
  Trained(0, At(CellState::kWaiting, 0), At(CellState::kFinished, 100), 13);
  EXPECT_DOUBLE_EQ(WholeTime(folder_.path(), cells_[0], statuses_[0])->wall_seconds(), 13);
}

TEST_F(PlanTest, TheCheapestOfTheLowestSeedComesFirst) {
  const auto names = [&](const SuitePlan& plan) {
    std::string text;
    for (const SuiteCell& cell : CheapestFirst(cells_, plan))
      absl::StrAppend(&text, cell.name, " ");
    return text;
  };
  EXPECT_EQ(names(Plan(1)), "linear-s0 relu-s0 linear-s1 relu-s1 ");
  estimates_.erase("linear");  // not known: last
  EXPECT_EQ(names(Plan(1)), "relu-s0 linear-s0 relu-s1 linear-s1 ");
}

TEST_F(PlanTest, FewerWorkersFitIntoLessMemory) {
  const SuitePlan plan = Plan(3);
  EXPECT_EQ(plan.memory_bytes, 300 + 300 + 200);
  EXPECT_EQ(WorkersThatFit(plan, 800), 3);
  EXPECT_EQ(WorkersThatFit(plan, 799), 2);
  EXPECT_EQ(WorkersThatFit(plan, 300), 1);
  EXPECT_EQ(WorkersThatFit(plan, 299), 0);
  statuses_.assign(4, At(CellState::kFinished, 100));
  EXPECT_EQ(WorkersThatFit(Plan(3), 0), 3);
}

TEST_F(PlanTest, RefusesADiskThatIsTooSmall) {
  SuitePlan plan = Plan(1);
  EXPECT_EQ(CheckDisk(plan, folder_.path() + "/not/made/yet"), absl::OkStatus());
  plan.disk_bytes = int64_t{1} << 60;
  const absl::Status refused = CheckDisk(plan, folder_.path() + "/not/made/yet");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("need 1153 PB of disk"));
}

TEST(FewSeedsTest, AreSaidOfCellsThatAreToBeCompared) {
  std::vector<SuiteCell> cells = {CellOf("relu", 0), CellOf("relu", 1)};
  EXPECT_EQ(FewSeedsText(cells), "");
  for (const uint32_t seed : {0, 1, 2}) cells.push_back(CellOf("linear", seed));
  EXPECT_EQ(FewSeedsText(cells),
            "note: 1 of 2 cells has fewer than 3 seeds: lra ablate, lra compare --paired and "
            "--contrast will say nothing of new seeds there\n");
  cells.push_back(CellOf("relu", 2));
  EXPECT_EQ(FewSeedsText(cells), "");
}

TEST_F(PlanTest, IsPrinted) {
  estimates_.erase("linear");
  const SuitePlan plan = Plan(2);
  const std::string text = PlanText(cells_, plan);
  EXPECT_THAT(text, HasSubstr("relu    2 of 2  40.0 s  20.0 s    300 B   1.0 kB  measured steps"));
  EXPECT_THAT(text, HasSubstr("linear  2 of 2                                    not known"));
  EXPECT_THAT(text, HasSubstr("4 runs left: about 40.0 s on 2 workers, 40.0 s of CPU time, 600 B "
                              "of memory at most, 2.0 kB of disk, and 2 of unknown size"));
  const auto json = PlanJson(cells_, plan);
  EXPECT_THAT(json["left"], SizeIs(4));
  EXPECT_EQ(json["cells"][0]["wall_seconds"], 40);
  EXPECT_FALSE(json["cells"][1].contains("wall_seconds"));
  EXPECT_EQ(json["unknown"], 2);
  // `lra status --json` says the same of what is left.
  const auto left = TotalJson(cells_, plan);
  EXPECT_EQ(left["left"], json["left"]);
  EXPECT_EQ(left["wall_seconds"], 40);
}

// Parts of a suite (--shard) share its folder. Each process here writes once both have begun, and
// ends once both have written.
TEST_F(PlanTest, WhoMeasureTheSameCellAtOnceDoNotMixTheirLogs) {
  const auto measure = [&](const std::string& mine, const std::string& other) {
    MeasureOptions options;
    options.out = folder_.path() + "/out";
    options.is_quiet = true;
    options.command = [&](const SuiteCell&, const std::string&, int) {
      return std::vector<std::string>{
          "sh", "-c",
          absl::StrCat("cd ", folder_.path(),
                       "; await() { n=0; until [ -e $1 ] || [ $n -gt 30000 ]; ",
                       "do sleep 0.02; n=$((n + 1)); done; }; touch begun-", mine, "; await begun-",
                       other, "; echo words of ", mine, " >&2; touch said-", mine, "; await said-",
                       other, "; exit 2")};
    };
    const auto measured = MeasureCells({cells_[0]}, options);
    return measured.ok() ? measured->failures.at("relu") : std::string(measured.status().message());
  };
  std::string first;
  std::thread beside([&] { first = measure("1", "2"); });
  const std::string second = measure("2", "1");
  beside.join();
  EXPECT_EQ(first, "words of 1");
  EXPECT_EQ(second, "words of 2");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() + "/out/plan"));
}

}  // namespace
}  // namespace lra
