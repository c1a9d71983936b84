// What records of later looks say of the run, and of what became of its data.
#include "eval/later_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "eval/run_record.h"
#include "inspect/evaluate.h"
#include "lra/copy_folder.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "run_folder/checkpoint.h"
#include "run_folder/test_looks.h"
#include "tasks/prepare.h"
#include "tests/training_fixture.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LaterLookRunTest : public TrainerTest {
 protected:
  static void PrepareOther(const std::string& out) {
    PrepareOptions other;
    other.task = "listops";
    other.out = out;
    other.quiet = true;
    other.set = {"min_length_tokens=4", "max_length_tokens=40",   "max_depth=3",
                 "train_examples=48",   "validation_examples=40", "test_examples=40"};
    ASSERT_TRUE(Prepare(other).ok());
  }
  static RunRecord Scored(const EvaluateRequest& request) {
    const auto evaluation = EvaluateCheckpoint(request);
    EXPECT_TRUE(evaluation.ok()) << evaluation.status();
    return evaluation.ok() ? evaluation->record : RunRecord();
  }
  static EvaluateRequest LookAt(const std::string& checkpoint) {
    EvaluateRequest request;
    request.checkpoint = checkpoint;
    request.quiet = true;
    return request;
  }
};

TEST_F(LaterLookRunTest, OtherDataIsNotWhatTheRunWasTrainedOn) {
  const TrainRequest request = Request("on-other", "linear", {"train.steps=2"});
  const auto run = TrainRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  EvaluateRequest evaluate = LookAt(request.runtime.out_dir());
  evaluate.data_dir = *folder_ + "/other";
  evaluate.allows_other_data = true;
  PrepareOther(evaluate.data_dir);
  const RunRecord look = Scored(evaluate);
  EXPECT_EQ(Fingerprint(look.later_look().trained_data()), Fingerprint(run->data()));
  EXPECT_NE(look.data().split_fingerprint().at("train"),
            run->data().split_fingerprint().at("train"));
  EXPECT_NE(look.cell_fingerprint(), run->cell_fingerprint());
  const RunRecord own = Scored(LookAt(request.runtime.out_dir()));
  EXPECT_TRUE(own.has_later_look());
  EXPECT_FALSE(Departs(own));
  EXPECT_EQ(own.cell_fingerprint(), run->cell_fingerprint());
}

TEST_F(LaterLookRunTest, AnotherLengthIsNotThatOfTraining) {
  const TrainRequest request = Request("longer", "linear", {"train.steps=2"});
  const auto run = TrainRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  EvaluateRequest evaluate = LookAt(request.runtime.out_dir());
  evaluate.max_length_tokens = run->config().view().max_length_tokens() + 50;
  const RunRecord look = Scored(evaluate);
  EXPECT_EQ(look.later_look().trained_max_length_tokens(),
            run->config().view().max_length_tokens());
  EXPECT_FALSE(look.later_look().has_trained_data());
  EXPECT_EQ(look.data().view_fingerprint(), Fingerprint(look.config().view()));
  EXPECT_EQ(look.provenance().at("view.max_length_tokens"), "--max-length");
}

TEST_F(LaterLookRunTest, TheMiddleOfTrainingIsNoRunThatEnded) {
  TrainRequest request = Request("middle", "linear", {"train.steps=6", "train.eval_every_steps=6"});
  const std::string out = request.runtime.out_dir();
  request.runtime.set_checkpoint_every_steps(2);
  request.runtime.set_keep_checkpoints(5);
  ASSERT_TRUE(TrainRun(request).ok());
  const RunRecord middle = Scored(LookAt(CheckpointPath(out, 2)));
  EXPECT_EQ(middle.results(0).checkpoint(), "step 2");
  EXPECT_EQ(middle.later_look().step(), 2);
  EXPECT_EQ(middle.selected_step(), 6);
  EXPECT_EQ(Scored(LookAt(out)).results(0).checkpoint(), kSelectedCheckpoint);
  // Killed before it was scored: what is best so far need not stay so.
  ASSERT_TRUE(std::filesystem::remove(out + "/record.textproto"));
  const RunRecord unfinished = Scored(LookAt(CheckpointPath(out, 4)));
  EXPECT_EQ(unfinished.results(0).checkpoint(), "step 4");
  EXPECT_EQ(unfinished.selected_step(), 0);
  EXPECT_EQ(Scored(LookAt(CheckpointPath(out, 6))).results(0).checkpoint(), kSelectedCheckpoint);
}

TEST_F(LaterLookRunTest, WhatCouldNotBeWrittenIsNoLookAtTest) {
  const TrainRequest request = Request("unwritable", "linear", {"train.steps=2"});
  ASSERT_TRUE(TrainRun(request).ok());
  const auto looks = [&] { return TestLooks(request.runtime.out_dir()).value().size(); };
  const size_t before = looks();
  ASSERT_TRUE(WriteFileAtomically(*folder_ + "/a_file", "").ok());
  EvaluateRequest evaluate = LookAt(request.runtime.out_dir());
  evaluate.split = "test";
  evaluate.out_dir = *folder_ + "/a_file/evaluation";
  EXPECT_THAT(std::string(EvaluateCheckpoint(evaluate).status().message()),
              HasSubstr("a_file/evaluation"));
  EXPECT_EQ(looks(), before);
  evaluate.out_dir = *folder_ + "/evaluation-of-test";
  Scored(evaluate);
  EXPECT_EQ(looks(), before + 1);
}

TEST_F(LaterLookRunTest, AnEvaluationIsNotResumedAsItsRun) {
  TrainRequest request = Request("evaluated", "linear", {"train.steps=2"});
  ASSERT_TRUE(TrainRun(request).ok());
  EvaluateRequest evaluate = LookAt(request.runtime.out_dir());
  evaluate.out_dir = *folder_ + "/evaluation";
  Scored(evaluate);
  request.runtime.set_out_dir(evaluate.out_dir);
  request.resume = true;
  const absl::Status refused = TrainRun(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("evaluation holds an evaluation (`lra eval`), not a run"));
}

// Each file counts the looks at its own weights.
TEST_F(LaterLookRunTest, LoneFilesOfOneFolderHaveLooksOfTheirOwn) {
  const std::string lone = *folder_ + "/files";
  std::filesystem::create_directories(lone);
  for (const std::string seed : {"0", "1"}) {
    const TrainRequest request =
        Request("lone-" + seed, "linear", {"train.steps=2", "seed=" + seed});
    ASSERT_TRUE(TrainRun(request).ok());
    EvaluateRequest evaluate = LookAt(lone + "/s" + seed + ".safetensors");
    std::filesystem::copy_file(
        CheckpointPath(request.runtime.out_dir(), 2) + "/weights.safetensors", evaluate.checkpoint);
    evaluate.data_dir = request.runtime.data_dir();
    evaluate.split = "test";
    EXPECT_EQ(Scored(evaluate).test_looks_size(), 1);
    EXPECT_EQ(Scored(evaluate).test_looks_size(), 2);
  }
}

// The record would name examples that nothing was scored on.
TEST_F(LaterLookRunTest, DataThatWasMadeAnewDuringTrainingIsNotScored) {
  const std::string data = *folder_ + "/remade", other = *folder_ + "/remade-other";
  ASSERT_TRUE(PrepareListOps(data, 48).ok());
  PrepareOther(other);
  TrainRequest request = Request("remade-run", "linear", {"train.steps=4"});
  request.runtime.set_data_dir(data);
  request.await_turn = [&] {
    EXPECT_TRUE(RemoveAll(data).ok());
    EXPECT_TRUE(CopyFolder(other, data).ok());
    return 0.0;
  };
  const absl::Status refused = TrainRun(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(data + ", at the end of training: is not the data of the run"),
                    HasSubstr("the fingerprint of split ")));
  EXPECT_FALSE(FileExists(request.runtime.out_dir() + "/record.textproto"));
  // Once it is back, the run is scored.
  ASSERT_TRUE(RemoveAll(data).ok());
  ASSERT_TRUE(PrepareListOps(data, 48).ok());
  request.await_turn = nullptr;
  request.resume = true;
  const auto record = TrainRun(request);
  EXPECT_TRUE(record.ok()) << record.status();
}

}  // namespace
}  // namespace lra
