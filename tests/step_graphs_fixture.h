// A fixture for steps that the fake device repeats as graphs, and for what each step leaves.
#ifndef LRA_TESTS_STEP_GRAPHS_FIXTURE_H_
#define LRA_TESTS_STEP_GRAPHS_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "datasets/loader.h"
#include "models/base/device_work.h"
#include "models/base/fake_device.h"
#include "tests/training_fixture.h"
#include "train/label_objective.h"
#include "train/step_graphs.h"

namespace lra {

// What one step leaves.
struct Left {
  double loss, correct, gradient_norm;
  bool operator==(const Left&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Left& left) {
  return out << left.loss << " " << left.correct << " " << left.gradient_norm;
}

class StepGraphsTest : public TrainerTest {
 protected:
  static constexpr int64_t kSteps = 24, kBatch = 8;

  void SetUp() override { FakeDevice(); }  // before the first backward

  static TrainRequest OnFake(const std::string& name, const std::string& attention,
                             const std::vector<std::string>& sets, const std::string& graphs) {
    std::vector<std::string> all = {
        "view.max_length_tokens=44"};  // less than 128: less to wait for
    all.insert(all.end(), sets.begin(), sets.end());
    TrainRequest request = Request(name, attention, all);
    request.runtime.set_device("fake");
    request.graphs = graphs;
    return request;
  }

  static HostBatch BatchAt(const lra::Run& run, int64_t step) {
    std::vector<int64_t> ids(kBatch);
    for (int64_t i = 0; i < kBatch; ++i) ids[i] = (kBatch * step + i) % run.train.size();
    return MakeBatch(run.train, ids);
  }

  // Steps of a fresh run, asked for operator by operator.
  static std::vector<Left> Eager(const TrainRequest& request) {
    const auto run = OpenRun(request);
    EXPECT_TRUE(run.ok()) << run.status();
    const StreamScope stream((*run)->model->parameters().device());
    const LabelObjective objective(**run);
    std::vector<Left> all;
    for (int64_t step = 0; step < kSteps; ++step) {
      const HostBatch batch = objective.whole_batch_work()->Shaped(BatchAt(**run, step));
      (*run)->optimizer->ZeroGradients();
      auto result =
          objective.AddGradient(batch, 0, {.training = true, .step = static_cast<uint32_t>(step)});
      EXPECT_TRUE(result.ok()) << result.status();
      const at::Tensor norm = (*run)->optimizer->StepOnDevice(objective.MakeSchedule(step).At(step),
                                                              result->on_device.select(0, 0));
      result->Read();
      all.push_back({result->loss_sum, static_cast<double>(result->correct), norm.item<double>()});
    }
    return all;
  }

  // The same repeated. `make` gives the objective.
  using MakeObjective =
      std::function<std::unique_ptr<LabelObjective>(const lra::Run& run, const int64_t* step)>;
  static std::vector<Left> Repeated(const TrainRequest& request, const MakeObjective& make) {
    const auto run = OpenRun(request);
    EXPECT_TRUE(run.ok()) << run.status();
    const StreamScope stream((*run)->model->parameters().device());
    int64_t step = 0;
    const auto objective = make(**run, &step);
    const Stage stage = LabelStage(*objective, run->get());
    UploadSlots uploads((*run)->model->parameters().device());
    const auto graphs = StepGraphs::Create(**run, stage, &uploads);
    if (graphs == nullptr) return {};
    std::vector<Left> all;
    for (; step < kSteps; ++step) {
      auto asked = graphs->Take(BatchAt(**run, step), step, objective->MakeSchedule(step).At(step));
      EXPECT_TRUE(asked.ok()) << asked.status();
      // What depends on padding keeps its lengths, and so has more shapes than one.
      if (!objective->depends_on_padding()) {
        EXPECT_EQ(asked->is_repeated, step >= StepGraphs::kWarmUpSteps) << step;
      }
      asked->result.Read();
      all.push_back({asked->result.loss_sum, static_cast<double>(asked->result.correct),
                     asked->gradient_norm.item<double>()});
    }
    EXPECT_GE(graphs->captures(), 1);
    return all;
  }
  static std::unique_ptr<LabelObjective> Real(const lra::Run& run, const int64_t*) {
    return std::make_unique<LabelObjective>(run);
  }

  static std::string NoteOf(const TrainRequest& asked) {
    TrainRequest request = asked;
    request.runtime.set_quiet(false);
    testing::internal::CaptureStderr();
    const auto run = OpenRun(request);
    EXPECT_TRUE(run.ok()) << run.status();
    const LabelObjective objective(**run);
    Stage stage = LabelStage(objective, run->get());
    stage.micro_batch_examples = request.runtime.micro_batch_examples();
    UploadSlots uploads((*run)->model->parameters().device());
    EXPECT_EQ(StepGraphs::Create(**run, stage, &uploads), nullptr);
    return testing::internal::GetCapturedStderr();
  }
};

}  // namespace lra

#endif  // LRA_TESTS_STEP_GRAPHS_FIXTURE_H_
