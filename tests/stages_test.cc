// What a run may consist of besides training: a search before it, pretraining before that.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "eval/run_record.h"
#include "tests/training_fixture.h"
#include "train/run.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

class StagesTest : public TrainerTest {};

TrainRequest SearchRequest(TrainRequest request, const std::string& rates) {
  EXPECT_TRUE(SetField(&request.resolved.config, "search.learning_rate=" + rates).ok());
  request.resolved.config.mutable_search()->set_select(SearchConfig::VALIDATION);
  request.resolved.config.mutable_search()->set_budget_trials(
      request.resolved.config.search().learning_rate_size());
  return request;
}

TEST_F(StagesTest, ASearchTestsTheBestTrialOnly) {
  TrainRequest request =
      SearchRequest(Request("search", "linear", {"train.steps=60", "train.eval_every_steps=20"}),
                    "1e-7,5e-3,1e-6");
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->trials_size(), 3);
  int best = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(record->trials(i).learning_rate(), request.resolved.config.search().learning_rate(i));
    if (record->trials(i).validation_accuracy() > record->trials(best).validation_accuracy())
      best = i;
    EXPECT_EQ(std::filesystem::exists(request.runtime.out_dir() + "/trials/lr-" +
                                      std::vector<std::string>{"1e-07", "0.005", "1e-06"}[i] +
                                      "/record.textproto"),
              false)
        << "a trial must not look at the test split";
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(record->trials(i).is_selected(), i == best);
  EXPECT_EQ(record->config().schedule().learning_rate(),
            request.resolved.config.search().learning_rate(best));
  EXPECT_EQ(record->selected_validation_accuracy(), record->trials(best).validation_accuracy());
  EXPECT_TRUE(CheckPredictions(request.runtime.out_dir(), *record).ok());
  EXPECT_EQ(TrainRun(request).status().code(), absl::StatusCode::kAlreadyExists);
  request.resume = true;
  EXPECT_TRUE(TrainRun(request).ok());
}

TEST_F(StagesTest, ATrialThatDivergesIsLost) {
  const std::vector<std::string> wild = {"train.steps=60", "schedule.warmup_fraction=0",
                                         "schedule.kind=CONSTANT", "optimizer.clip_norm=0",
                                         "optimizer.weight_decay=10"};
  const auto record = TrainRun(SearchRequest(Request("search-lost", "linear", wild), "1000,1e-4"));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->trials(0).selected_step(), -1);
  EXPECT_TRUE(record->trials(1).is_selected());
  const auto none = TrainRun(SearchRequest(Request("search-none", "linear", wild), "1000"));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("all 1 trials"));
}

class PretrainTest : public TrainerTest, public testing::WithParamInterface<std::string> {};

TEST_P(PretrainTest, LearnsTheInputsBeforeTheLabels) {
  const TrainRequest request =
      Request("pretrain-" + GetParam(), "linear",
              {"pretrain.objective=" + GetParam(), "pretrain.steps=120",
               "pretrain.learning_rate=5e-3", "pretrain.masked_fraction=0.2", "train.steps=4"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->pretrain().steps(), 120);
  EXPECT_GT(record->pretrain().tokens(), 120 * 8 * 4);
  EXPECT_LT(record->pretrain().last_loss(), 0.9 * record->pretrain().first_loss());
  EXPECT_GT(record->pretrain().seconds(), 0);
  // The run starts from what was learned: its first checkpoint is nearer to it than to a fresh
  // model.
  const auto fresh = OpenRun(Request("fresh-" + GetParam(), "linear", {"train.steps=4"}));
  ASSERT_TRUE(fresh.ok());
  const auto trained = OpenRun([&] {
    TrainRequest again = request;
    again.resume = true;
    return again;
  }());
  ASSERT_TRUE(trained.ok()) << trained.status();
  const auto& a = (*fresh)->model->parameters().parameters();
  const auto& b = (*trained)->model->parameters().parameters();
  ASSERT_EQ(a[0].name, "embedding.token.weight");
  EXPECT_GT(at::linalg_vector_norm(a[0].value - b[0].value).item<double>(), 0.5);
}

INSTANTIATE_TEST_SUITE_P(Objectives, PretrainTest, testing::Values("MASKED", "CAUSAL"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lra
