// Parts of a run: how the trials of a search and pretraining are watched, what a resume of them
// counts, and splits that are scored in part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "eval/evaluator.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "tests/training_fixture.h"
#include "train/run.h"
#include "train/run_claim.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace lra {
namespace {

class RunPartsTest : public TrainerTest {};

// Two trials of four steps.
TrainRequest SearchRequest(TrainRequest request) {
  EXPECT_TRUE(SetField(&request.resolved.config, "search.learning_rate=1e-3,1e-4").ok());
  request.resolved.config.mutable_search()->set_select(SearchConfig::VALIDATION);
  request.resolved.config.mutable_search()->set_budget_trials(2);
  return request;
}

TEST_F(RunPartsTest, ASearchThatNobodyResumedCountsNoResume) {
  TrainRequest request =
      SearchRequest(Request("search", "linear", {"train.steps=4", "train.eval_every_steps=2"}));
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->efficiency().resumes(), 0);
  // Killed while it was tested.
  std::filesystem::remove(request.runtime.out_dir() + "/record.textproto");
  request.resume = true;
  const auto resumed = TrainRun(request);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->efficiency().resumes(), 1);
  EXPECT_TRUE(EqualExceptVolatile(*record, *resumed));
}

TEST_F(RunPartsTest, AResumeRemovesWhatAKilledProcessWasWriting) {
  TrainRequest request = Request("leftovers", "linear", {"train.steps=2"});
  const std::string run = request.runtime.out_dir();
  std::vector<std::string> leftovers;
  for (const char* folder : {"", "/tensorboard", "/pretrain", "/pretrain/tensorboard"}) {
    ASSERT_TRUE(MakeDirectories(run + folder).ok());
    leftovers.push_back(run + folder + "/some.tmp-1-1");
    ASSERT_TRUE(WriteFileAtomically(leftovers.back(), "half").ok());
  }
  request.resume = true;
  ASSERT_TRUE(TrainRun(request).ok());
  for (const std::string& file : leftovers) EXPECT_FALSE(FileExists(file)) << file;
}

}  // namespace
}  // namespace lra
