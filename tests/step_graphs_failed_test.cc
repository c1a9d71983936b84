// Steps that fail, and captures that the device refuses: what they leave of a training with graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/base/device_work.h"
#include "models/base/fake_refusal.h"
#include "tests/step_graphs_fixture.h"
#include "train/label_objective.h"
#include "train/step_graphs.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// All of the step was asked for when the device refuses it: its update was counted, by which RADAM
// rectifies and an average weighs.
TEST_F(StepGraphsTest, ARefusedCaptureIsNoUpdate) {
  const std::vector<std::string> sets = {"model.layers=1", "train.steps=40", "optimizer.kind=RADAM",
                                         "optimizer.average_decay=0.9"};
  const std::vector<Left> eager = Eager(OnFake("eager", "linear", sets, "on"));
  const auto run = OpenRun(OnFake("refused", "linear", sets, "on"));
  ASSERT_TRUE(run.ok()) << run.status();
  const StreamScope stream((*run)->model->parameters().device());
  const LabelObjective objective(**run);
  const Stage stage = LabelStage(objective, run->get());
  UploadSlots uploads((*run)->model->parameters().device());
  const auto graphs = StepGraphs::Create(**run, stage, &uploads);
  ASSERT_NE(graphs, nullptr);
  const FakeGraphRefusal refusal;
  testing::internal::CaptureStderr();
  std::vector<Left> all;
  for (int64_t step = 0; step < kSteps; ++step) {
    auto asked = graphs->Take(BatchAt(**run, step), step, objective.MakeSchedule(step).At(step));
    ASSERT_TRUE(asked.ok()) << asked.status();
    EXPECT_FALSE(asked->is_repeated) << step;
    asked->result.Read();
    all.push_back({asked->result.loss_sum, static_cast<double>(asked->result.correct),
                   asked->gradient_norm.item<double>()});
  }
  // The run is quiet, and yet slower than its user thinks.
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("warning: graphs: training asks for each operator by itself: "),
                    HasSubstr("refuses the graph")));
  EXPECT_EQ(all, eager);
  const WeightAverage::Scope judged = (*run)->optimizer->UseJudgedWeights();
  const auto state = (*run)->optimizer->State();
  EXPECT_EQ(state.back().first, "average_updates");
  EXPECT_EQ(state.back().second.item<double>(), kSteps);
}

// A rate that ruins the weights makes the next step fail, by itself or in a graph.
TEST_F(StepGraphsTest, StatisticsOfAVoidStepAreVoid) {
  for (const int64_t ruin : {int64_t{1}, int64_t{10}}) {
    SCOPED_TRACE(ruin);
    const auto run = OpenRun(OnFake(
        absl::StrCat("void", ruin), "linear",
        {"model.layers=1", "train.steps=40", "model.norm=BATCH", "model.pooled_norm=OVER_EXAMPLES"},
        "on"));
    ASSERT_TRUE(run.ok()) << run.status();
    const StreamScope stream((*run)->model->parameters().device());
    const LabelObjective objective(**run);
    const Stage stage = LabelStage(objective, run->get());
    UploadSlots uploads((*run)->model->parameters().device());
    const auto graphs = StepGraphs::Create(**run, stage, &uploads);
    ASSERT_NE(graphs, nullptr);
    for (int64_t step = 0; step < kSteps; ++step) {
      std::vector<at::Tensor> was;
      for (const Parameter& buffer : objective.parameters().buffers())
        was.push_back(buffer.value.cpu().clone());
      ScheduleValue schedule = objective.MakeSchedule(step).At(step);
      if (step == ruin) schedule.learning_rate = INFINITY;
      ASSERT_TRUE(graphs->Take(BatchAt(**run, step), step, schedule).ok()) << step;
      for (size_t i = 0; i < was.size(); ++i) {
        const at::Tensor is = objective.parameters().buffers()[i].value.cpu();
        EXPECT_EQ(is.equal(was[i]), step > ruin) << step << " " << i;
      }
    }
    EXPECT_EQ(graphs->captures(), 1);
  }
}

}  // namespace
}  // namespace lra
