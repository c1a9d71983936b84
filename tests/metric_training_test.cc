// Training judged by other metrics than accuracy: selection, plateau, early stop, search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "datasets/manifest.h"
#include "eval/curve_values.h"
#include "eval/error_rate_test_util.h"
#include "eval/run_record.h"
#include "run_folder/checkpoint.h"
#include "run_folder/run_folder.h"
#include "tests/training_fixture.h"
#include "train/trainer.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MetricTrainingTest : public TrainerTest {
 protected:
  // The same run on the same data, judged by the metric.
  static TrainRequest Judged(const std::string& metric, const std::string& name,
                             const std::vector<std::string>& sets) {
    TrainRequest request = Request(name + "-" + metric, "linear", sets);
    if (metric == kAccuracy) return request;
    const std::string data = *folder_ + "/data-" + metric;
    if (!std::filesystem::exists(data)) {
      std::filesystem::copy(request.runtime.data_dir(), data,
                            std::filesystem::copy_options::recursive);
      auto manifest = ReadManifest(data);
      EXPECT_TRUE(manifest.ok()) << manifest.status();
      manifest->mutable_spec()->set_metric_name(metric);
      EXPECT_TRUE(WriteManifest(data, *manifest).ok());
    }
    request.runtime.set_data_dir(data);
    return request;
  }
};

// What was trained and chosen, whatever it is called.
void ExpectSameRun(const RunRecord& accuracy, const RunRecord& error) {
  ASSERT_EQ(accuracy.curve_size(), error.curve_size());
  for (int i = 0; i < accuracy.curve_size(); ++i) {
    EXPECT_EQ(accuracy.curve(i).train_loss(), error.curve(i).train_loss()) << i;
    EXPECT_EQ(accuracy.curve(i).learning_rate(), error.curve(i).learning_rate()) << i;
    EXPECT_NEAR(accuracy.curve(i).validation().at(kAccuracy),
                1 - error.curve(i).validation().at(kErrorRate), 1e-12);
    EXPECT_EQ(accuracy.curve(i).train().at(kAccuracy), error.curve(i).train().at(kAccuracy));
  }
  EXPECT_EQ(accuracy.selected_step(), error.selected_step());
  EXPECT_EQ(accuracy.stopped_at_step(), error.stopped_at_step());
  EXPECT_NEAR(accuracy.selected_validation(), 1 - error.selected_validation(), 1e-12);
  ASSERT_EQ(accuracy.results_size(), error.results_size());
  for (int i = 0; i < accuracy.results_size(); ++i) {
    EXPECT_EQ(accuracy.results(i).predictions_sha256(), error.results(i).predictions_sha256()) << i;
  }
}

// Rises and falls: a wrong direction would choose another step, and stop elsewhere.
const std::vector<std::string> kRestless = {"train.steps=60",
                                            "train.eval_every_steps=4",
                                            "train.log_every_steps=4",
                                            "schedule.kind=PLATEAU",
                                            "schedule.learning_rate=3e-3",
                                            "schedule.plateau_factor=0.5",
                                            "schedule.plateau_patience_evaluations=1"};

TEST_F(MetricTrainingTest, SelectionAndPlateauFollowTheDirection) {
  const auto accuracy = TrainRun(Judged(kAccuracy, "plateau", kRestless));
  ASSERT_TRUE(accuracy.ok()) << accuracy.status();
  const auto error = TrainRun(Judged(kErrorRate, "plateau", kRestless));
  ASSERT_TRUE(error.ok()) << error.status();
  ExpectSameRun(*accuracy, *error);
  const CurvePoint* best = BestPoint(*error, **FindMetric(kErrorRate));
  EXPECT_EQ(error->selected_step(), best->step());
  double worst = 0;
  for (const CurvePoint& point : error->curve()) {
    EXPECT_GE(point.validation().at(kErrorRate), error->selected_validation());
    worst = std::max(worst, point.validation().at(kErrorRate));
  }
  EXPECT_GT(worst, error->selected_validation()) << "or the test would say nothing";
  EXPECT_LT(error->curve(14).learning_rate(), error->curve(0).learning_rate()) << "a reduction";
}

TEST_F(MetricTrainingTest, AnEarlyStopFollowsTheDirection) {
  std::vector<std::string> sets = kRestless;
  sets.push_back("train.early_stop_evaluations=3");
  const auto accuracy = TrainRun(Judged(kAccuracy, "stop", sets));
  ASSERT_TRUE(accuracy.ok()) << accuracy.status();
  const auto error = TrainRun(Judged(kErrorRate, "stop", sets));
  ASSERT_TRUE(error.ok()) << error.status();
  EXPECT_GT(error->stopped_at_step(), 0);
  ExpectSameRun(*accuracy, *error);
}

TEST_F(MetricTrainingTest, ASearchFollowsTheDirection) {
  const auto search = [](TrainRequest request) {
    SearchConfig& search = *request.resolved.config.mutable_search();
    for (const float rate : {1e-7f, 5e-3f, 1e-6f}) search.add_learning_rate(rate);
    search.set_select(SearchConfig::VALIDATION);
    search.set_budget_trials(3);
    return TrainRun(request);
  };
  const std::vector<std::string> sets = {"train.steps=40", "train.eval_every_steps=20"};
  const auto accuracy = search(Judged(kAccuracy, "search", sets));
  ASSERT_TRUE(accuracy.ok()) << accuracy.status();
  const auto error = search(Judged(kErrorRate, "search", sets));
  ASSERT_TRUE(error.ok()) << error.status();
  bool differs = false;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(accuracy->trials(i).is_selected(), error->trials(i).is_selected()) << i;
    EXPECT_NEAR(accuracy->trials(i).validation(), 1 - error->trials(i).validation(), 1e-12);
    EXPECT_GE(error->trials(i).validation(), error->selected_validation());
    differs |= error->trials(i).validation() > error->selected_validation();
  }
  EXPECT_TRUE(differs) << "or the test would say nothing";
}

TEST_F(MetricTrainingTest, NatsSelectTheLowestLoss) {
  const TrainRequest request = Judged(kNats, "nats", kRestless);
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->spec().metric_name(), kNats);
  for (const CurvePoint& point : record->curve()) {
    EXPECT_EQ(point.validation().at(kNats), point.validation_loss());
    EXPECT_EQ(point.train().at(kNats), point.train_loss());
    EXPECT_TRUE(point.validation().contains(kAccuracy)) << "the doctor reads it";
    EXPECT_GE(point.validation_loss(), record->selected_validation());
    if (point.step() == record->selected_step()) {
      EXPECT_EQ(point.validation_loss(), record->selected_validation());
    }
  }
  const auto state =
      LoadCheckpointState(CheckpointPath(request.runtime.out_dir(), record->selected_step()));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->best_validation(), record->selected_validation());
  EXPECT_EQ((*ReadRunFolder(request.runtime.out_dir())->metric())->name(), kNats);
}

TEST_F(MetricTrainingTest, AMetricThatLabelsCannotGiveIsRefused) {
  const absl::Status status = TrainRun(Judged(kBitsPerToken, "tokens", {})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("bits_per_token needs tokens"), HasSubstr("training with labels")));
  const absl::Status unknown = TrainRun(Judged("elo", "unknown", {})).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()),
              AllOf(HasSubstr("metric_name of task \"listops\""), HasSubstr("elo")));
}

}  // namespace
}  // namespace lra
