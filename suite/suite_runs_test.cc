#include "suite/suite_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/textproto.h"
#include "nlohmann/json.hpp"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"
#include "suite/cells.h"
#include "suite/state.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A suite of four runs, of which none has begun.
class SuiteRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    SuiteFile suite;
    ASSERT_TRUE(ParseTextProto(R"(
      description: "of this test"
      group { task: "listops" attention: ["linear", "relu"] seeds: "0-1" preset: "smoke" }
    )",
                               "test", &suite)
                    .ok());
    ASSERT_TRUE(ClaimSuiteFolder(out_, suite).ok());
    const auto cells = ExpandSuite(suite);
    ASSERT_TRUE(cells.ok()) << cells.status();
    cells_ = *cells;
  }

  std::vector<ListedRun> List(const std::string& path) {
    std::vector<std::string> damaged;
    const auto runs = ListRunsAndSuites({path}, &damaged);
    EXPECT_TRUE(runs.ok()) << runs.status();
    return runs.ok() ? *runs : std::vector<ListedRun>();
  }

  // Finishes the run of a cell.
  void Finish(const SuiteCell& cell) {
    RunRecord record;
    record.set_kind(RunRecord::MEASURED);
    record.set_method("linear");
    *record.mutable_config() = cell.config;
    record.mutable_spec()->set_name("listops");
    record.add_curve()->set_step(cell.config.train().steps());
    ASSERT_TRUE(WriteRunRecord(RunDirectory(out_, cell), record).ok());
  }

  TestFolder folder_;
  const std::string out_ = folder_.File("suite");
  std::vector<SuiteCell> cells_;
};

TEST_F(SuiteRunsTest, RunsThatWaitAreListedWhereverTheSuiteLies) {
  for (const std::string& path : {out_, folder_.path()}) {
    const std::vector<ListedRun> runs = List(path);
    ASSERT_EQ(runs.size(), 4);
    for (const ListedRun& run : runs) EXPECT_EQ(run.state, "waiting");
    EXPECT_THAT(runs[0].directory, HasSubstr("suite/listops-linear-smoke"));
    EXPECT_EQ(runs[3].folder.record.method(), "relu");
    EXPECT_EQ(runs[3].folder.record.seed(), 1);
  }
}

// Its folder does not say yet which run it is, but the suite does.
TEST_F(SuiteRunsTest, ARunBeforeItsFirstCheckpointIsNamed) {
  CheckpointState state;
  state.add_curve()->set_step(20);
  ASSERT_TRUE(MakeDirectories(RunDirectory(out_, cells_[3])).ok());
  ASSERT_TRUE(RewriteCurve(RunDirectory(out_, cells_[3]), state).ok());
  const std::vector<ListedRun> runs = List(out_);
  ASSERT_EQ(runs.size(), 4);
  const auto json = nlohmann::json::parse(RunListJson(runs));
  const auto run = std::find_if(json.begin(), json.end(), [](const nlohmann::json& one) {
    return one["state"] == "stopped";
  });
  ASSERT_NE(run, json.end());
  EXPECT_EQ((*run)["task"], "listops");
  EXPECT_EQ((*run)["method"], "relu");
  EXPECT_EQ((*run)["step"], 20);
  EXPECT_EQ((*run)["steps"], cells_[3].config.train().steps());
}

TEST_F(SuiteRunsTest, FinishedAndFailedOnesStandOnce) {
  Finish(cells_[0]);
  SuiteFailure failure;
  failure.set_exit_code(3);
  failure.set_message("no space left");
  ASSERT_TRUE(WriteFailure(out_, cells_[1], failure).ok());
  const std::vector<ListedRun> runs = List(folder_.path());
  EXPECT_EQ(runs.size(), 4);
  const auto json = nlohmann::json::parse(RunListJson(runs));
  int finished = 0, waiting = 0, failed = 0;
  for (const auto& run : json) {
    finished += run["state"] == "finished" ? 1 : 0;
    waiting += run["state"] == "waiting" ? 1 : 0;
    failed += run["state"] == "failed" && run["failure"] == "exit code 3: no space left" ? 1 : 0;
  }
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(waiting, 2);
  EXPECT_EQ(failed, 1);
}

TEST_F(SuiteRunsTest, PathsThatLeadToTheSameSuiteListItOnce) {
  Finish(cells_[0]);
  // The folder of a run that failed is there, too.
  ASSERT_TRUE(MakeDirectories(RunDirectory(out_, cells_[1])).ok());
  ASSERT_TRUE(WriteFailure(out_, cells_[1], SuiteFailure()).ok());
  std::vector<std::string> damaged;
  const auto runs =
      ListRunsAndSuites({out_, folder_.path() + "/./suite/../suite", folder_.path()}, &damaged);
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->size(), 4);
}

TEST_F(SuiteRunsTest, ASuiteThatCannotBeReadIsNamedAndTheRestListed) {
  SuiteFile spoilt;
  spoilt.add_group()->add_task("nonexistent");
  ASSERT_TRUE(ClaimSuiteFolder(folder_.File("spoilt"), spoilt).ok());
  std::vector<std::string> damaged;
  const auto runs = ListRunsAndSuites({folder_.path()}, &damaged);
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->size(), 4);
  EXPECT_THAT(damaged, ElementsAre(HasSubstr("spoilt/suite.textproto: group 1")));
}

TEST_F(SuiteRunsTest, AFolderWithoutRunsAndSuitesIsAnError) {
  ASSERT_TRUE(MakeDirectories(folder_.File("empty")).ok());
  std::vector<std::string> damaged;
  for (const char* name : {"empty", "nowhere"}) {
    EXPECT_EQ(ListRunsAndSuites({folder_.File(name)}, &damaged).status().code(),
              absl::StatusCode::kNotFound);
  }
  EXPECT_EQ(ListRunsAndSuites({out_, folder_.File("nowhere")}, &damaged).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lra
