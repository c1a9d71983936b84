// Tests what a run may contain besides training: a search before it. (Pretraining is in
// tests/pretrain_test.cc.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "eval/run_record.h"
#include "lra/files.h"
#include "run_folder/divergence.h"
#include "run_folder/run_claim.h"
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
    if (record->trials(i).validation() > record->trials(best).validation()) best = i;
    EXPECT_EQ(std::filesystem::exists(request.runtime.out_dir() + "/trials/lr-" +
                                      std::vector<std::string>{"1e-07", "0.005", "1e-06"}[i] +
                                      "/record.textproto"),
              false)
        << "a trial must not look at the test split";
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(record->trials(i).is_selected(), i == best);
  EXPECT_EQ(record->config().schedule().learning_rate(),
            request.resolved.config.search().learning_rate(best));
  EXPECT_EQ(record->selected_validation(), record->trials(best).validation());
  EXPECT_TRUE(CheckPredictions(request.runtime.out_dir(), *record).ok());
  // The winner's checkpoints were copied, all of them.
  const std::string& out = request.runtime.out_dir();
  const std::string from =
      JoinPath(JoinPath(out, TrialFolder(request.resolved.config.search().learning_rate(best))),
               "checkpoint");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = std::filesystem::relative(entry.path(), from).string();
    EXPECT_EQ(ReadFile(JoinPath(out, "checkpoint/" + name)).value_or("(missing)"),
              *ReadFile(entry.path().string()))
        << name;
    ++files;
  }
  EXPECT_GE(files, 4);  // three of a step, and `latest`
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
  TrainRequest request = SearchRequest(Request("search-none", "linear", wild), "1000");
  const auto none = TrainRun(request);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("all 1 trials"));
  EXPECT_TRUE(HasDiverged(none.status()));
  const auto lost = ReadRunRecord(*folder_ + "/search-none");
  ASSERT_TRUE(lost.ok()) << lost.status();
  EXPECT_EQ(lost->failure().cause(), none.status().message());
  ASSERT_EQ(lost->trials_size(), 1);
  EXPECT_EQ(lost->trials(0).selected_step(), -1);
  request.resume = true;
  EXPECT_EQ(TrainRun(request).status(), none.status());
  request.resolved.config.mutable_train()->set_steps(61);
  EXPECT_THAT(std::string(TrainRun(request).status().message()),
              HasSubstr("its configuration differs: train.steps is 61, its record has 60"));
}

}  // namespace
}  // namespace lra
