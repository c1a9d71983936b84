#include "run_folder/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "eval/sums.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"
#include "run_folder/divergence.h"
#include "run_folder/run_claim.h"

namespace lra {
namespace {

using testing::HasSubstr;

ExperimentConfig ConfigOf(const std::string& attention) {
  ExperimentConfig config;
  config.set_task("listops");
  config.set_protocol("fair@1");
  config.set_preset("small@2");
  config.set_seed(3);
  config.mutable_attention()->set_name(attention);
  config.mutable_train()->set_steps(5000);
  return config;
}

class RunListTest : public testing::Test {
 protected:
  // A run that was interrupted at a step behind the last point of its curve.
  void WriteStopped(const std::string& name, int64_t point, int64_t step,
                    bool is_pretrained = false) {
    CheckpointState state;
    *state.mutable_config() = ConfigOf("linear");
    if (is_pretrained) state.mutable_config()->mutable_pretrain();
    state.mutable_spec()->set_name("listops");
    state.set_step(step);
    state.mutable_efficiency()->set_wall_seconds(1);
    CurvePoint& curve = *state.add_curve();
    curve.set_step(point);
    (*curve.mutable_validation())["accuracy"] = 0.25;
    ParameterStore store(7);
    store.Create("a.weight", {2, 2}, Initializer::Zeros());
    ASSERT_TRUE(MakeDirectories(folder_.File(name)).ok());
    ASSERT_TRUE(RewriteCurve(folder_.File(name), state).ok());
    ASSERT_TRUE(SaveCheckpoint(folder_.File(name), store, {}, &state).ok());
  }
  void WriteFinished(const std::string& name, RunRecord::Kind kind) {
    RunRecord record;
    record.set_kind(kind);
    record.set_method("cosformer");
    record.set_seed(3);
    *record.mutable_config() = ConfigOf("cosformer");
    if (kind != RunRecord::MEASURED) record.mutable_config()->clear_train();
    if (kind == RunRecord::MEASURED) record.add_curve()->set_step(5000);
    SplitResult* result = record.add_results();
    result->set_split("test");
    result->set_examples(200);
    (*result->mutable_sums()->mutable_counts())[kTargets] = 200;
    (*result->mutable_sums()->mutable_counts())[kCorrect] = 71;
    ASSERT_TRUE(WriteRunRecord(folder_.File(name), record).ok());
  }
  std::vector<ListedRun> List() {
    const auto runs = ListRuns({folder_.path()}, &damaged_);
    EXPECT_TRUE(runs.ok()) << runs.status();
    return runs.ok() ? *runs : std::vector<ListedRun>();
  }

  const TestFolder folder_;
  std::vector<std::string> damaged_;
};

TEST_F(RunListTest, EveryStateHasItsLine) {
  WriteFinished("a", RunRecord::MEASURED);
  WriteFinished("b", RunRecord::EXTERNAL);
  WriteStopped("c", 20, 39);
  WriteStopped("d", 20, 20);
  ASSERT_TRUE(WriteFileAtomically(folder_.File("d") + "/" + kOldFailureFile, "loss is nan\n").ok());
  WriteStopped("e", 100, 60);
  const auto claim = RunClaim::Take(folder_.File("e"));
  ASSERT_TRUE(claim.ok()) << claim.status();

  const std::vector<ListedRun> runs = List();
  ASSERT_EQ(runs.size(), 5);
  const auto json = nlohmann::json::parse(RunListJson(runs));
  EXPECT_EQ(json[0]["value"], 0.355);
  EXPECT_EQ(json[0]["split"], "test");
  EXPECT_EQ(json[2]["state"], "stopped");
  EXPECT_EQ(json[2]["step"], 39);
  EXPECT_EQ(json[2]["split"], "validation");
  EXPECT_EQ(json[3]["state"], "diverged");
  EXPECT_EQ(json[3]["failure"], "loss is nan");
  EXPECT_EQ(json[4]["state"], "running");
  EXPECT_EQ(json[4]["step"], 100);

  const std::string text = RunListText(runs);
  const std::string a = folder_.File("a");
  EXPECT_THAT(text, HasSubstr(a + "  listops  cosformer  fair@1    small@2  3     5,000 of 5,000  "
                                  "finished  35.50 % (test)\n"));
  EXPECT_THAT(text, HasSubstr("39 of 5,000     stopped   25.00 % (validation)\n"));
  EXPECT_THAT(text, testing::StartsWith("run "));
}

// The step is the one that was scored: a weights file knows no curve.
TEST_F(RunListTest, AnEvaluationIsNoFinishedRun) {
  RunRecord record;
  record.set_kind(RunRecord::MEASURED);
  record.set_method("linear");
  *record.mutable_config() = ConfigOf("linear");
  record.mutable_later_look()->set_step(40);
  CurvePoint& trained = *record.add_curve();  // it was better at another step
  trained.set_step(20);
  (*trained.mutable_validation())["accuracy"] = 0.5;
  SplitResult* result = record.add_results();
  result->set_split("train");
  result->set_checkpoint(kLastCheckpoint);
  result->set_step(40);
  result->set_examples(200);
  (*result->mutable_sums()->mutable_counts())[kTargets] = 200;
  (*result->mutable_sums()->mutable_counts())[kCorrect] = 71;
  ASSERT_TRUE(WriteRunRecord(folder_.File("look"), record).ok());
  const auto json = nlohmann::json::parse(RunListJson(List()));
  ASSERT_EQ(json.size(), 1);
  EXPECT_EQ(json[0]["state"], "evaluation");
  EXPECT_EQ(json[0]["step"], 40);
  EXPECT_EQ(json[0]["split"], "train");
  EXPECT_EQ(json[0]["value"], 0.355);
}

// A run that cannot be read is named beside the others.
TEST_F(RunListTest, ADamagedCurveHidesNoOtherRun) {
  WriteFinished("a", RunRecord::MEASURED);
  WriteStopped("b", 20, 39);
  const std::string curve = JoinPath(folder_.File("b"), kCurveFile);
  ASSERT_TRUE(WriteFileAtomically(curve, *ReadFile(curve) + "garbage\n").ok());
  const std::vector<ListedRun> runs = List();
  ASSERT_EQ(runs.size(), 1);
  EXPECT_EQ(runs[0].directory, folder_.File("a"));
  EXPECT_THAT(damaged_, testing::ElementsAre(HasSubstr("no point of a curve")));
}

// What is pretrained belongs to the run, which holds the lock.
TEST_F(RunListTest, ARunThatIsPretrainedIsItself) {
  WriteStopped("p/pretrain", 20, 39, /*is_pretrained=*/true);
  EXPECT_EQ(nlohmann::json::parse(RunListJson(List()))[0]["state"], "stopped");
  const auto claim = RunClaim::Take(folder_.File("p"));
  ASSERT_TRUE(claim.ok()) << claim.status();
  const auto json = nlohmann::json::parse(RunListJson(List()));
  ASSERT_EQ(json.size(), 1);
  EXPECT_EQ(json[0]["run"], folder_.File("p"));
  EXPECT_EQ(json[0]["state"], "running");
  EXPECT_EQ(json[0]["part"], "pretraining");
  // Its own folder, too, is of that stage.
  for (const char* folder : {"p/pretrain", "p/pretrain/"}) {
    const auto stage = ReadActivePart(folder_.File(folder));
    ASSERT_TRUE(stage.ok()) << stage.status();
    EXPECT_TRUE(stage->is_pretraining);
    EXPECT_EQ(stage->state, RunState::kRunning);
  }
  WriteStopped("p", 20, 39);  // labels have begun
  EXPECT_EQ(ReadActivePart(folder_.File("p/pretrain"))->state, RunState::kFinished);
  EXPECT_FALSE(ReadActivePart(folder_.File("p"))->is_pretraining);
}

// A name makes no stage of a run.
TEST_F(RunListTest, ARunMayBeCalledPretrain) {
  WriteFinished("a/pretrain", RunRecord::MEASURED);
  WriteStopped("b/pretrain", 20, 39);
  WriteStopped("c/pretrain/pretrain", 20, 39, /*is_pretrained=*/true);
  WriteStopped("c/pretrain", 20, 39, /*is_pretrained=*/true);
  for (const char* run : {"a/pretrain", "b/pretrain", "c/pretrain"}) {
    const auto folder = ReadActivePart(folder_.File(run));
    ASSERT_TRUE(folder.ok()) << folder.status();
    EXPECT_FALSE(folder->is_pretraining) << run;
    EXPECT_EQ(folder->part, "");
  }
  EXPECT_TRUE(ReadActivePart(folder_.File("c/pretrain/pretrain"))->is_pretraining);
}

// After the last step there is scoring, which takes longer than no time.
TEST_F(RunListTest, TheLastStepIsNotTheEnd) {
  for (const int64_t step : {4999, 5000}) {
    const std::string name = absl::StrCat("r", step);
    WriteStopped(name, step, step);
    EXPECT_FALSE(ReadActivePart(folder_.File(name))->is_scoring());
    const auto claim = RunClaim::Take(folder_.File(name));
    ASSERT_TRUE(claim.ok()) << claim.status();
    const auto run = ReadActivePart(folder_.File(name));
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->is_scoring(), step == 5000);
    EXPECT_EQ(run->eta_seconds().has_value(), step == 4999);
  }
}

// A run that has written no checkpoint yet is listed all the same.
TEST_F(RunListTest, WithoutACheckpointOnlyTheFolderIsKnown) {
  ASSERT_TRUE(MakeDirectories(folder_.File("new")).ok());
  ASSERT_TRUE(WriteFileAtomically(folder_.File("new") + "/" + kCurveFile, "").ok());
  const std::vector<ListedRun> runs = List();
  ASSERT_EQ(runs.size(), 1);
  EXPECT_THAT(RunListText(runs), HasSubstr("stopped\n"));
  EXPECT_EQ(nlohmann::json::parse(RunListJson(runs))[0]["step"], 0);
  EXPECT_EQ(ListRuns({folder_.File("nothing")}, &damaged_).status().code(),
            absl::StatusCode::kNotFound);
}

// One bad record does not hide the others.
TEST_F(RunListTest, ARecordThatCannotBeReadIsNamedBesideTheOthers) {
  WriteFinished("a", RunRecord::MEASURED);
  ASSERT_TRUE(MakeDirectories(folder_.File("bad")).ok());
  ASSERT_TRUE(WriteFileAtomically(folder_.File("bad") + "/record.textproto", "method: 7").ok());
  EXPECT_EQ(List().size(), 1u);
  EXPECT_THAT(damaged_, testing::ElementsAre(HasSubstr("bad/record.textproto")));
}

TEST_F(RunListTest, ANameThatIsNoUtf8EndsNoListing) {
  std::vector<ListedRun> runs(2);
  runs[0].directory = "bad\xff";
  runs[1].directory = "good";
  const auto json = nlohmann::json::parse(RunListJson(runs));
  EXPECT_EQ(json[0]["run"], "bad\xef\xbf\xbd");
  EXPECT_EQ(json[1]["run"], "good");
}

}  // namespace
}  // namespace lra
