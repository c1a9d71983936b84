#include "run_folder/find_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "run_folder/checkpoint.h"

namespace lra {
namespace {

using testing::HasSubstr;

class FindCheckpointTest : public testing::Test {
 protected:
  // Saves a checkpoint of a run of 60 steps and returns the run's folder.
  std::string Save(const std::string& name, CheckpointState state) {
    const std::string run = folder_.File(name);
    state.mutable_config()->mutable_train()->set_steps(60);
    ParameterStore store(7);
    store.Create("a.weight", {2, 2}, Initializer::Zeros());
    EXPECT_TRUE(SaveCheckpoint(run, store, {}, &state).ok());
    return run;
  }
  static CheckpointState StateOfStep(int64_t step) {
    CheckpointState state;
    state.set_step(step);
    return state;
  }
  static std::string Described(const std::string& path) {
    const auto checkpoint = FindCheckpoint(path);
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
    return DescribeUnselected(path, checkpoint.value_or(""));
  }

  const TestFolder folder_;
};

TEST_F(FindCheckpointTest, TheNewestOfARunWithoutASelectedOneIsNamed) {
  const std::string run = Save("run", StateOfStep(20));
  EXPECT_THAT(Described(run),
              HasSubstr("run is unfinished: its newest checkpoint, step 20 of 60, is taken"));
  EXPECT_EQ(Described(CheckpointPath(run, 20)), "");
  RunRecord record;
  record.set_kind(RunRecord::MEASURED);
  record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  ASSERT_TRUE(WriteRunRecord(run, record).ok());
  EXPECT_THAT(Described(run), HasSubstr("run diverged: its newest checkpoint, step 20"));
  record.clear_failure();
  record.set_selected_step(20);
  ASSERT_TRUE(WriteRunRecord(run, record).ok());
  EXPECT_EQ(Described(run), "");
}

TEST_F(FindCheckpointTest, PretrainingThatLabelsDidNotBeginFromIsNamed) {
  CheckpointState state = StateOfStep(3);
  state.mutable_config()->mutable_pretrain()->set_examples(16);
  state.mutable_config()->mutable_train()->set_batch_examples(4);
  state.mutable_pretrain()->set_unigram_nats(1);
  const std::string stage = Save("run/pretrain", state);
  EXPECT_THAT(Described(stage), HasSubstr("is pretraining that is unfinished: its newest "
                                          "checkpoint, step 3 of 4, is taken"));
  state.set_step(4);
  Save("run/pretrain", state);
  EXPECT_THAT(Described(stage), HasSubstr("from which no labels were learned yet"));
  EXPECT_THAT(Described(stage + "/"), HasSubstr("from which no labels were learned yet"));
  Save("run", StateOfStep(1));
  EXPECT_EQ(Described(stage), "");
}

TEST_F(FindCheckpointTest, AnEvaluationHasNoCheckpoint) {
  RunRecord record;
  record.set_kind(RunRecord::MEASURED);
  record.set_method("linear");
  record.mutable_later_look();
  ASSERT_TRUE(WriteRunRecord(folder_.File("look"), record).ok());
  EXPECT_THAT(std::string(FindCheckpoint(folder_.File("look")).status().message()),
              HasSubstr("look: holds an evaluation (linear), which has no checkpoint"));
}

}  // namespace
}  // namespace lra
