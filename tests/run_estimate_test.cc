// Holds the estimate of a run against what it does.
#include "train/run_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "lra/files.h"
#include "run_folder/run_claim.h"
#include "tests/training_fixture.h"
#include "train/estimate.h"
#include "train/interruption.h"
#include "train/label_objective.h"
#include "train/run.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class RunEstimateTest : public TrainerTest {};

const std::vector<std::string> kSets = {"train.steps=30", "train.eval_every_steps=20",
                                        "train.batch_examples=4"};

int64_t BytesBelow(const std::string& directory) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

TEST_F(RunEstimateTest, CountsWhatTheRunDoesAndLeavesNothing) {
  const TrainRequest request = Request("estimated/run", "linear", kSets);
  const auto estimate = EstimateRun(request);
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  EXPECT_FALSE(FileExists(*folder_ + "/estimated"));
  ASSERT_EQ(estimate->stage_size(), 1);
  EXPECT_EQ(estimate->stage(0).steps(), 30);
  EXPECT_EQ(estimate->stage(0).validations(), 2);  // at 20 and at the end
  EXPECT_EQ(estimate->trials(), 1);
  const StageCost& stage = estimate->stage(0);
  EXPECT_GT(stage.step_seconds(), 0);
  EXPECT_GT(stage.validation_seconds(), 0);
  EXPECT_NEAR(estimate->wall_seconds(),
              estimate->start_seconds() + 30 * stage.step_seconds() +
                  2 * (stage.validation_seconds() + stage.save_seconds()) +
                  estimate->score_seconds(),
              1e-9);
  EXPECT_NE(DescribeRunEstimate(*estimate).find("30 steps"), std::string::npos);

  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(estimate->parameters(), record->parameters());
  // At the end no checkpoint is being written, and one or two are kept; records, curve and logs of
  // a run of this size count as much.
  const int64_t bytes = BytesBelow(request.runtime.out_dir());
  const int64_t at_the_end = estimate->disk_bytes() - estimate->checkpoint_bytes();
  EXPECT_GT(at_the_end, bytes / 2);
  EXPECT_LT(at_the_end, bytes * 2);
}

// Held against the looks of the run itself, by the estimate before training and by --dry-run.
TEST_F(RunEstimateTest, BothEstimatesCountTheLooksThatAreTaken) {
  const TrainRequest request = Request(
      "counted/run", "linear",
      {"train.steps=11", "train.eval_every_steps=6", "train.batch_examples=12",
       "evaluation.selection=FIXED_STEP", "evaluation.step=8", "evaluation.drop_last=true"});
  const auto planned = EstimateRun(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->stage(0).validations(), 3);  // at 6, the kept one at 8, at the end
  {
    const auto run = OpenRun(request);
    ASSERT_TRUE(run.ok()) << run.status();
    const LabelObjective objective(**run);
    const auto before = EstimateStage(**run, LabelStage(objective, run->get()));
    ASSERT_TRUE(before.ok()) << before.status();
    // Three batches of twelve of the 40 examples each time, and 1.5 times of two splits at the end.
    EXPECT_EQ(before->forward_batches, 3 * 3 + 1.5 * 2 * 3);
  }
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto is_validated = [](const CurvePoint& point) { return point.validation_size() > 0; };
  EXPECT_EQ(std::count_if(record->curve().begin(), record->curve().end(), is_validated), 3);
}

// Where an earlier budget of pretraining ends, there is a look too.
TEST_F(RunEstimateTest, EachBudgetOfPretrainingEndsWithAValidation) {
  const auto estimate =
      EstimateRun(Request("budgets", "linear",
                          {"train.steps=2", "train.batch_examples=4", "train.eval_every_steps=8",
                           "pretrain.objective=MASKED", "pretrain.examples=40",
                           "pretrain.learning_rate=1e-3", "pretrain.masked_fraction=0.2",
                           "pretrain.until=NOTHING", "pretrain.continued_from_examples=12"}));
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  EXPECT_EQ(estimate->stage(0).validations(), 3);  // at 3, 8 and 10
}

TEST_F(RunEstimateTest, ASearchIsItsTrialsAndPretrainingAStage) {
  std::vector<std::string> sets = kSets;
  sets.insert(sets.end(), {"search.learning_rate=1e-3,1e-4,1e-5", "search.budget_trials=3",
                           "search.select=VALIDATION", "pretrain.objective=MASKED",
                           "pretrain.examples=40", "pretrain.learning_rate=1e-3",
                           "pretrain.masked_fraction=0.2", "pretrain.until=NOTHING"});
  const auto estimate = EstimateRun(Request("searched", "linear", sets));
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  EXPECT_EQ(estimate->trials(), 3);
  ASSERT_EQ(estimate->stage_size(), 2);
  EXPECT_EQ(estimate->stage(0).name(), "pretraining");
  EXPECT_EQ(estimate->stage(0).steps(), 10);
  EXPECT_EQ(estimate->stage(1).name(), "training");
  double trial = estimate->start_seconds();
  for (const StageCost& stage : estimate->stage()) trial += stage.steps() * stage.step_seconds();
  EXPECT_GT(estimate->wall_seconds(), 3 * trial);
}

// One validation makes one; more are there only where one is due by time before the run ends.
TEST_F(RunEstimateTest, CheckpointsByTimeCountWhereOneIsDue) {
  TrainRequest request =
      Request("by-time", "linear",
              {"train.steps=30", "train.eval_every_steps=30", "train.batch_examples=4"});
  request.runtime.set_keep_checkpoints(100);
  const auto kept = [&request](double minutes) {
    request.runtime.set_checkpoint_every_minutes(minutes);
    const auto estimate = EstimateRun(request);
    EXPECT_TRUE(estimate.ok()) << estimate.status();
    return estimate.ok() ? estimate->stage(0).checkpoints() : -1;
  };
  EXPECT_EQ(kept(0), 1);
  EXPECT_EQ(kept(1e9), 1);
  EXPECT_EQ(kept(1e-9), 101) << "and the best";
}

// To within the length of what a state says of its configuration.
TEST_F(RunEstimateTest, DiskIsThatOfAllCheckpointsThatStayAndOneMore) {
  const auto estimate_of = [](const std::vector<std::string>& more, int keep) {
    std::vector<std::string> sets = {"train.steps=30", "train.eval_every_steps=5",
                                     "train.batch_examples=4"};
    sets.insert(sets.end(), more.begin(), more.end());
    TrainRequest request = Request("disk", "linear", sets);
    request.runtime.set_keep_checkpoints(keep);
    const auto estimate = EstimateRun(request);
    EXPECT_TRUE(estimate.ok()) << estimate.status();
    return estimate.value_or(RunEstimate());
  };
  const auto near = [](int64_t actual, int64_t expected) {
    EXPECT_NEAR(static_cast<double>(actual), static_cast<double>(expected),
                0.05 * static_cast<double>(expected));
  };
  const RunEstimate plain = estimate_of({}, 1);
  const int64_t bytes = plain.checkpoint_bytes();
  ASSERT_GT(bytes, 10000);
  const int64_t predictions = plain.disk_bytes() - 3 * bytes;  // newest, best, one being written
  EXPECT_GT(predictions, 0);
  EXPECT_LT(predictions, bytes);
  near(estimate_of({}, 3).disk_bytes() - predictions, 5 * bytes);
  near(estimate_of({"evaluation.selection=FIXED_STEP", "evaluation.step=7"}, 1).disk_bytes() -
           predictions,
       4 * bytes);
  // No more than there are: one of each of six validations.
  near(estimate_of({}, 100).disk_bytes() - predictions, 7 * bytes);

  const std::vector<std::string> pretrained = {
      "pretrain.objective=MASKED", "pretrain.examples=120", "pretrain.learning_rate=1e-3",
      "pretrain.masked_fraction=0.2", "pretrain.until=NOTHING"};
  const RunEstimate staged = estimate_of(pretrained, 1);
  ASSERT_EQ(staged.stage_size(), 2);
  near(staged.checkpoint_bytes(), bytes);
  EXPECT_EQ(staged.stage(0).checkpoints(), 1);  // pretraining chooses no best one
  near(staged.disk_bytes() - predictions, staged.stage(0).checkpoint_bytes() + 2 * bytes +
                                              std::max(bytes, staged.stage(0).checkpoint_bytes()));
}

TEST_F(RunEstimateTest, StoppedItLeavesNothing) {
  const TrainRequest request = Request("stopped/run", "linear", kSets);
  RequestStop();
  const absl::Status stopped = EstimateRun(request).status();
  ForgetStopRequest();
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled) << stopped;
  EXPECT_FALSE(FileExists(*folder_ + "/stopped"));
}

TEST_F(RunEstimateTest, AFinishedRunIsNotTouched) {
  const TrainRequest request = Request("finished", "linear", {"train.steps=2"});
  ASSERT_TRUE(TrainRun(request).ok());
  const int64_t bytes = BytesBelow(request.runtime.out_dir());
  EXPECT_TRUE(EstimateRun(request).ok());
  EXPECT_EQ(BytesBelow(request.runtime.out_dir()), bytes);
  TrainRequest without_data = request;
  without_data.runtime.set_data_dir(*folder_ + "/none");
  EXPECT_THAT(std::string(EstimateRun(without_data).status().message()),
              HasSubstr("no data set in"));
}

}  // namespace
}  // namespace lra
