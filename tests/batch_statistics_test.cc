// Statistics of batch norms for evaluation (evaluation.batch_statistics).
#include "train/batch_statistics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "datasets/dataset.h"
#include "datasets/loader.h"
#include "eval/run_record.h"
#include "lra/folder_test_util.h"
#include "run_folder/checkpoint.h"
#include "tests/random_task_request.h"
#include "train/trainer.h"

namespace lra {
namespace {

// A model with much dropout, and the training examples of a task.
class BatchStatisticsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    WriteRandomTask(GetParam(), folder_.File("data"));
    const auto resolved =
        ResolveRandomTask(GetParam(), "strong", {"model.pooling=MEAN", "model.dropout=0.5"});
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    const ExperimentConfig& config = resolved->config;
    const auto data = Dataset::Open(folder_.File("data"), {.view = &config.view()});
    ASSERT_TRUE(data.ok()) << data.status();
    split_.emplace(*SplitView::Create(*data, "train", config.view()));
    model_ = *Classifier::Create(config, split_->spec());
  }

  HostBatch All() const {
    std::vector<int64_t> all(split_->size());
    std::iota(all.begin(), all.end(), 0);
    return MakeBatch(*split_, all);
  }

  // What is pooled of all texts in evaluation, normalised: [B, E], twice as many rows for pairs.
  at::Tensor Pooled() const {
    std::vector<at::Tensor> pooled;
    model_->VisitActivations(All(), {}, [&](absl::string_view name, const at::Tensor& x) {
      if (absl::EndsWith(name, "pooled")) pooled.push_back(x.detach());
    });
    return at::cat(pooled);
  }

  std::vector<at::Tensor> Statistics() const {
    std::vector<at::Tensor> all;
    for (const auto& buffer : model_->parameters().buffers()) all.push_back(buffer.value.clone());
    return all;
  }

  const TestFolder folder_;
  std::optional<SplitView> split_;
  std::unique_ptr<Classifier> model_;
};

TEST_P(BatchStatisticsTest, AreThoseOfTheSplitWithoutDropout) {
  for (uint32_t step = 0; step < 40; ++step)
    model_->Forward(All(), {.training = true, .step = step});
  EXPECT_GT(Pooled().mean(0).abs().max().item<double>(), 0.05) << "dropout moves no mean";
  ASSERT_TRUE(MeasureBatchStatistics(*model_, *split_, 1, split_->size(), nullptr).ok());
  const at::Tensor pooled = Pooled();
  EXPECT_LE(pooled.mean(0).abs().max().item<double>(), 1e-4);
  EXPECT_LE((pooled.var(0) - 1).abs().max().item<double>(), 0.02) << "epsilon";
}

TEST_P(BatchStatisticsTest, DependOnTheWeightsAlone) {
  ASSERT_TRUE(MeasureBatchStatistics(*model_, *split_, 1, kRandomTaskBatch, nullptr).ok());
  const std::vector<at::Tensor> first = Statistics();
  ASSERT_FALSE(first.empty());
  model_->Forward(All(), {.training = true});
  EXPECT_FALSE(Statistics()[0].equal(first[0]));
  ASSERT_TRUE(MeasureBatchStatistics(*model_, *split_, 1, kRandomTaskBatch, nullptr).ok());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(Statistics()[i].equal(first[i])) << i;
  ASSERT_TRUE(MeasureBatchStatistics(*model_, *split_, 2, kRandomTaskBatch, nullptr).ok());
  EXPECT_FALSE(Statistics()[0].equal(first[0])) << "another seed draws other examples";
}

TEST_P(BatchStatisticsTest, CanBeStopped) {
  int asked = 0;
  const auto stopped = MeasureBatchStatistics(*model_, *split_, 1, kRandomTaskBatch,
                                              [&asked] { return ++asked > 3; });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 4);
}

// What is scored is what a checkpoint holds, also where weights are averaged and a fixed step,
// beside all others that are validated, is asked for.
TEST_P(BatchStatisticsTest, BelongToTheWeightsThatAreKept) {
  const TrainRequest request = RandomTaskRequest(
      GetParam(), "strong",
      {"evaluation.batch_statistics=PRECISE", "model.pooling=MEAN", "model.dropout=0.5",
       "optimizer.average_decay=0.5", "train.steps=6", "train.eval_every_steps=6",
       "evaluation.selection=FIXED_STEP", "evaluation.step=4"},
      folder_, "kept");
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->selected_step(), 4);
  ASSERT_EQ(record->curve(1).step(), 4);
  EXPECT_TRUE(record->curve(1).has_validation_loss());
  const std::string checkpoint = CheckpointPath(request.runtime.out_dir(), 4);
  const auto state = LoadCheckpointState(checkpoint);
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_TRUE(LoadWeights(checkpoint, *state, model_->parameters()).ok());
  const std::vector<at::Tensor> kept = Statistics();
  ASSERT_TRUE(MeasureBatchStatistics(*model_, *split_, 0, kRandomTaskBatch, nullptr).ok());
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(Statistics()[i].equal(kept[i])) << i;
}

TEST_P(BatchStatisticsTest, DecideEvaluationAndNotTraining) {
  std::vector<RunRecord> records;
  for (const std::string kind : {"RUNNING", "PRECISE"}) {
    const TrainRequest request =
        RandomTaskRequest(GetParam(), "strong",
                          {"model.dropout=0.5", "evaluation.batch_statistics=" + kind,
                           "train.eval_every_steps=1", "train.log_every_steps=1"},
                          folder_, kind);
    auto record = TrainRun(request);
    ASSERT_TRUE(record.ok()) << record.status();
    records.push_back(*std::move(record));
  }
  ASSERT_EQ(records[0].curve_size(), records[1].curve_size());
  for (int i = 0; i < records[0].curve_size(); ++i) {
    EXPECT_EQ(records[0].curve(i).train_loss(), records[1].curve(i).train_loss());
    EXPECT_NE(records[0].curve(i).validation_loss(), records[1].curve(i).validation_loss());
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, BatchStatisticsTest, testing::Values("listops", "review_halves"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lra
