#include "train/stretches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "eval/machine.h"
#include "models/base/fake_device.h"

namespace lra {
namespace {

using testing::AnyOf;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TrainingStretch By(const std::string& cpu, const std::string& commit) {
  TrainingStretch stretch;
  stretch.mutable_machine()->set_cpu(cpu);
  stretch.mutable_versions()->set_commit(commit);
  return stretch;
}

CheckpointState AtStep(int64_t step) {
  CheckpointState state;
  state.set_step(step);
  return state;
}

TEST(StretchesTest, ThisMachineAndBuildAreDescribed) {
  ExperimentConfig config;
  const TrainingStretch stretch = DescribeTrainer(config, at::kCPU);
  EXPECT_EQ(stretch.machine().cores(), DescribeMachine().cores());
  EXPECT_FALSE(stretch.machine().kernels().empty());
  EXPECT_FALSE(stretch.versions().libtorch().empty());
}

// On a device the CPU's instructions say nothing of what ran.
TEST(StretchesTest, ADevicesKernelsAreNamed) {
  ExperimentConfig config;
  config.mutable_numerics()->set_precision(NumericsConfig::BF16);
  EXPECT_EQ(DescribeTrainer(config, FakeDevice()).machine().kernels(), "aten");
  EXPECT_THAT(DescribeTrainer(config, at::kCPU).machine().kernels(), Not(AnyOf("aten", "cuda")));
}

TEST(StretchesTest, AnotherMachineOrBuildBeginsAStretch) {
  CheckpointState state;
  NoteTrainer(By("x", "a"), &state);
  state.set_step(10);
  TrainingStretch after_a_restart = By("x", "a");
  after_a_restart.mutable_machine()->set_memory_bytes(1);
  NoteTrainer(after_a_restart, &state);
  ASSERT_THAT(state.stretch(), SizeIs(1));
  NoteTrainer(By("y", "a"), &state);
  state.set_step(20);
  NoteTrainer(By("y", "b"), &state);
  ASSERT_THAT(state.stretch(), SizeIs(3));
  EXPECT_EQ(state.stretch(1).after_step(), 10);
  EXPECT_EQ(state.stretch(1).machine().cpu(), "y");
  EXPECT_EQ(state.stretch(2).after_step(), 20);
  EXPECT_EQ(state.stretch(2).versions().commit(), "b");
}

// Some steps without exact sums are enough for the number of processes to change bits.
TEST(StretchesTest, ExactSumsAreNotedWhereAllStepsHadThem) {
  CheckpointState state;
  NoteProcesses(2, 1, true, &state);
  EXPECT_TRUE(state.efficiency().exact_reduction());
  EXPECT_EQ(state.efficiency().processes(), 2);
  state.set_step(10);
  NoteProcesses(4, 1, true, &state);
  EXPECT_TRUE(state.efficiency().exact_reduction());
  NoteProcesses(4, 3, false, &state);
  EXPECT_FALSE(state.efficiency().exact_reduction());
  EXPECT_EQ(state.efficiency().runs_at_once(), 3);
  NoteProcesses(4, 1, true, &state);
  EXPECT_FALSE(state.efficiency().exact_reduction());
}

TEST(StretchesTest, ARecordNamesThemUnlessItsOwnMachineDidAll) {
  CheckpointState state;
  NoteTrainer(By("x", "a"), &state);
  RunRecord one, scored_elsewhere, resumed;
  RecordTrainers(state, By("x", "a"), &one);
  EXPECT_THAT(one.stretch(), IsEmpty());
  EXPECT_EQ(one.machine().cpu(), "x");
  EXPECT_EQ(one.versions().commit(), "a");
  RecordTrainers(state, By("y", "a"), &scored_elsewhere);
  ASSERT_THAT(scored_elsewhere.stretch(), SizeIs(1));
  EXPECT_EQ(scored_elsewhere.stretch(0).machine().cpu(), "x");
  state.set_step(5);
  NoteTrainer(By("y", "a"), &state);
  state.set_step(9);
  RecordTrainers(state, By("y", "a"), &resumed);
  EXPECT_THAT(resumed.stretch(), SizeIs(2));
}

// A run that was handed on before its first step, and scored by somebody else.
TEST(StretchesTest, WhoTookNoStepIsNotNamed) {
  CheckpointState state;
  NoteTrainer(By("w", "a"), &state);
  NoteTrainer(By("x", "a"), &state);
  ASSERT_THAT(state.stretch(), SizeIs(1));
  EXPECT_EQ(state.stretch(0).machine().cpu(), "x");
  state.set_step(10);
  NoteTrainer(By("y", "a"), &state);
  RunRecord record;
  RecordTrainers(state, By("y", "a"), &record);
  EXPECT_EQ(record.machine().cpu(), "y");
  ASSERT_THAT(record.stretch(), SizeIs(1));
  EXPECT_EQ(record.stretch(0).machine().cpu(), "x");
}

// Its first steps were taken by nobody knows whom.
TEST(StretchesTest, ACheckpointOfBeforeSaysOnlyWhoWentOn) {
  CheckpointState state = AtStep(7);
  NoteTrainer(By("x", "a"), &state);
  state.set_step(9);
  RunRecord record;
  RecordTrainers(state, By("x", "a"), &record);
  ASSERT_THAT(record.stretch(), SizeIs(1));
  EXPECT_EQ(record.stretch(0).after_step(), 7);
}

}  // namespace
}  // namespace lra
