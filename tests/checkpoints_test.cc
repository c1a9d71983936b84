// Which checkpoints a run leaves, by time and by steps, what goes on from them, and how the CPU
// time of its parts adds up. (What a stopped process saves is in tests/stop_test.sh.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "eval/run_record.h"
#include "lra/cpu_time.h"
#include "lra/files.h"
#include "run_folder/checkpoint.h"
#include "tests/training_fixture.h"
#include "train/estimate.h"
#include "train/label_objective.h"
#include "train/loop.h"
#include "train/request.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class CheckpointsTest : public TrainerTest {};

TEST_F(CheckpointsTest, SavesByMinutesAndKeepsTheNewest) {
  TrainRequest request =
      Request("minutes", "linear",
              {"train.steps=9", "train.eval_every_steps=4", "schedule.learning_rate=0"});
  request.runtime.set_checkpoint_every_minutes(1e-9);
  request.runtime.set_keep_checkpoints(3);
  ASSERT_TRUE(TrainRun(request).ok());
  EXPECT_EQ(CheckpointSteps(request.runtime.out_dir()), (std::vector<int64_t>{4, 7, 8, 9}));
}

// Makes the folder that a process leaves which was killed once `latest` named its checkpoint of
// `step`.
void LeaveKilled(const std::string& saved, int64_t step, const std::string& killed) {
  std::filesystem::create_directories(killed + "/checkpoint");
  std::filesystem::copy(CheckpointPath(saved, step), CheckpointPath(killed, step),
                        std::filesystem::copy_options::recursive);
  EXPECT_TRUE(
      WriteFileAtomically(killed + "/checkpoint/latest", "step-" + std::to_string(step) + "\n")
          .ok());
}

// `lra train --resume --out RUN`.
TEST_F(CheckpointsTest, ARunGoesOnByItsOwnSettings) {
  const std::vector<std::string> sets = {"train.steps=12", "train.eval_every_steps=8", "seed=3"};
  const TrainRequest undisturbed = Request("not-stopped", "cosformer", sets);
  const auto expected = TrainRun(undisturbed);
  ASSERT_TRUE(expected.ok()) << expected.status();
  TrainChoice choice;
  choice.resume = true;
  choice.runtime.set_quiet(true);
  choice.runtime.set_threads(1);
  choice.runtime.set_out_dir(*folder_ + "/stopped");
  const auto refused = [&] { return std::string(MakeTrainRequests(choice).status().message()); };
  EXPECT_THAT(refused(), HasSubstr("there is no checkpoint that has the run's settings"));
  LeaveKilled(undisturbed.runtime.out_dir(), 8, choice.runtime.out_dir());
  const auto requests = MakeTrainRequests(choice);
  ASSERT_TRUE(requests.ok()) << requests.status();
  ASSERT_EQ(requests->size(), 1u);
  EXPECT_EQ(requests->front().resolved.provenance.at("train.steps"), "--set");
  const auto resumed = TrainRun(requests->front());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(EqualExceptVolatile(*expected, *resumed));
  choice.experiment.sets = {"train.steps=12"};
  EXPECT_THAT(refused(), HasSubstr("--task is needed"));
}

// The label stage begins after that, and its record says what it would have said.
TEST_F(CheckpointsTest, ARunGoesOnByItsOwnSettingsFromPretraining) {
  const TrainRequest undisturbed = Request(
      "pretrained", "linear",
      {"train.steps=4", "pretrain.objective=MASKED", "pretrain.examples=32",
       "pretrain.until=NOTHING", "pretrain.learning_rate=1e-3", "pretrain.masked_fraction=0.2"});
  const auto expected = TrainRun(undisturbed);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_GT(expected->changed_rule_size(), 0);
  ASSERT_GT(expected->warning_size(), 0);
  TrainChoice choice;
  choice.resume = true;
  choice.runtime.set_quiet(true);
  choice.runtime.set_threads(1);
  choice.runtime.set_out_dir(*folder_ + "/stopped-before");
  std::filesystem::create_directories(choice.runtime.out_dir());
  std::filesystem::copy(undisturbed.runtime.out_dir() + "/pretrain",
                        choice.runtime.out_dir() + "/pretrain",
                        std::filesystem::copy_options::recursive);
  const auto requests = MakeTrainRequests(choice);
  ASSERT_TRUE(requests.ok()) << requests.status();
  const auto resumed = TrainRun(requests->front());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(EqualExceptVolatile(*expected, *resumed));
  ASSERT_EQ(resumed->changed_rule_size(), expected->changed_rule_size());
  ASSERT_EQ(resumed->warning_size(), expected->warning_size());
  for (int i = 0; i < expected->warning_size(); ++i)
    EXPECT_EQ(resumed->warning(i), expected->warning(i));
}

// An interval of next to nothing is over after every step, also between two validations.
TEST_F(CheckpointsTest, WhatWasSavedByTimeGoesOnInTheSameBits) {
  const std::vector<std::string> sets = {"train.steps=12", "train.eval_every_steps=8",
                                         "train.log_every_steps=4"};
  const TrainRequest undisturbed = Request("undisturbed", "cosformer", sets);
  const auto expected = TrainRun(undisturbed);
  ASSERT_TRUE(expected.ok()) << expected.status();
  TrainRequest saved = Request("saved-by-time", "cosformer", sets);
  saved.runtime.set_checkpoint_every_minutes(1e-9);
  saved.runtime.set_keep_checkpoints(100);
  const auto same = TrainRun(saved);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_TRUE(EqualExceptVolatile(*expected, *same));
  ASSERT_EQ(CheckpointSteps(saved.runtime.out_dir()).size(), 12u);

  TrainRequest killed = Request("killed-by-time", "cosformer", sets);
  LeaveKilled(saved.runtime.out_dir(), 6, killed.runtime.out_dir());
  killed.resume = true;
  const auto actual = TrainRun(killed);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(actual->efficiency().resumes(), 1);
  EXPECT_TRUE(EqualExceptVolatile(*expected, *actual));
  const std::string &whole = undisturbed.runtime.out_dir(), &part = killed.runtime.out_dir();
  for (const char* file : {"/weights.safetensors", "/optimizer.safetensors"})
    EXPECT_EQ(*ReadFile(CheckpointPath(whole, 12) + file),
              *ReadFile(CheckpointPath(part, 12) + file))
        << file;
  EXPECT_EQ(*ReadFile(whole + "/curve.jsonl"), *ReadFile(part + "/curve.jsonl"));
}

// kill -9 between a checkpoint's rename and the update of `latest` leaves a later step behind.
TEST_F(CheckpointsTest, ALaterCheckpointOfAKilledProcessDisplacesNone) {
  TrainRequest request =
      Request("later", "linear",
              {"train.steps=14", "train.eval_every_steps=10", "evaluation.selection=LAST"});
  const std::string out = request.runtime.out_dir();
  std::filesystem::create_directories(out + "/checkpoint/step-20");
  request.runtime.set_keep_checkpoints(1);
  request.runtime.set_checkpoint_every_steps(3);
  request.resume = true;
  ASSERT_TRUE(TrainToEnd(request).ok());
  EXPECT_EQ(*LatestCheckpoint(out), CheckpointPath(out, 14));
  EXPECT_TRUE(FileExists(CheckpointPath(out, 14)));
  EXPECT_FALSE(FileExists(CheckpointPath(out, 20)));
  EXPECT_TRUE(TrainRun(request).ok());
}

TEST_F(CheckpointsTest, CpuSecondsOfAllPartsAddUp) {
  // What a run of one step notes that goes on from what an earlier process noted.
  const auto after = [](const std::string& name, const Efficiency& earlier) {
    const auto run = OpenRun(Request(name, "linear", {"train.steps=1"}));
    if (!run.ok()) {
      ADD_FAILURE() << run.status();
      return Efficiency();
    }
    *(*run)->state.mutable_efficiency() = earlier;
    const LabelObjective objective(**run);
    Stage stage = LabelStage(objective, run->get());
    EXPECT_EQ(PlanStage(**run, &stage), absl::OkStatus());
    EXPECT_EQ(TrainStage(**run, stage), absl::OkStatus());
    return (*run)->state.efficiency();
  };
  const Efficiency whole = after("cpu-whole", {});
  EXPECT_GT(whole.cpu_seconds(), 0);
  EXPECT_LE(whole.cpu_seconds(), ProcessCpuSeconds());
  Efficiency earlier;
  earlier.set_wall_seconds(1000);
  earlier.set_cpu_seconds(1900);
  const Efficiency resumed = after("cpu-resumed", earlier);
  EXPECT_GT(resumed.wall_seconds(), 1000);
  EXPECT_GT(resumed.cpu_seconds(), 1900);
  EXPECT_LE(resumed.cpu_seconds(), 1900 + ProcessCpuSeconds());
  // A part would pass for the whole where it was not counted before.
  earlier.clear_cpu_seconds();
  EXPECT_FALSE(after("cpu-of-a-part", earlier).has_cpu_seconds());
}

}  // namespace
}  // namespace lra
