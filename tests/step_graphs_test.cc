// Steps that a device repeats as graphs against those that it is asked for operator by operator.
// The stand-in for CUDA's graphs is models/base/fake_graph.h: what a step takes of the host stays
// as it was when the step was captured.
#include "train/step_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "datasets/loader.h"
#include "eval/run_record.h"
#include "models/attention_names.h"
#include "models/base/device_work.h"
#include "models/next_token_model.h"
#include "run_folder/divergence.h"
#include "tests/step_graphs_fixture.h"
#include "train/label_objective.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

// Gives steps the number of the host instead of the device's.
class BakedWork : public WholeBatchWork {
 public:
  BakedWork(const WholeBatchWork& real, const int64_t* step) : real_(real), step_(step) {}
  HostBatch Shaped(HostBatch batch) const override { return real_.Shaped(std::move(batch)); }
  std::vector<at::Tensor> OnHost(const HostBatch& batch, double divisor) const override {
    return real_.OnHost(batch, divisor);
  }
  BatchResult Known(const HostBatch& batch) const override { return real_.Known(batch); }
  at::Tensor AddGradientOf(const HostBatch& batch, const std::vector<at::Tensor>& moved,
                           const ForwardContext& /*context*/) const override {
    return real_.AddGradientOf(batch, moved,
                               {.training = true, .step = static_cast<uint32_t>(*step_)});
  }

 private:
  const WholeBatchWork& real_;
  const int64_t* const step_;
};

class BakedStep : public LabelObjective {
 public:
  BakedStep(const Run& run, const int64_t* step)
      : LabelObjective(run), work_(*LabelObjective::whole_batch_work(), step) {}
  const lra::WholeBatchWork* whole_batch_work() const override { return &work_; }

 private:
  const BakedWork work_;
};

TEST_F(StepGraphsTest, EveryAttentionStepsAsWithoutGraphs) {
  for (const std::string& attention : AttentionNames()) {
    SCOPED_TRACE(attention);
    const auto request = [&](const std::string& name) {
      return OnFake(attention + name, attention,
                    {"model.dropout=0.2", "model.layers=1", "train.steps=40"}, "on");
    };
    const std::vector<Left> eager = Eager(request("-eager"));
    EXPECT_EQ(Repeated(request("-graphs"), &Real), eager);
    EXPECT_NE(eager[0], eager[kSteps - 1]);
  }
}

TEST_F(StepGraphsTest, OptionsStepAsWithoutGraphs) {
  for (const std::string set :
       {"model.norm=BATCH", "model.pooled_norm=OVER_EXAMPLES", "model.pooling=MAX",
        "model.positions=ROTARY", "model.positions=ALIBI", "model.stem_tokens=3",
        "attention.dropout=0.1", "optimizer.clip_value=0.01", "optimizer.decay=COUPLED",
        "optimizer.clip_scope=EACH_PARAMETER", "optimizer.kind=RADAM", "schedule.kind=ONE_CYCLE",
        "optimizer.average_decay=0.9", "model.positions=CONCATENATED", "numerics.precision=BF16",
        "model.dropout_mask=ALL_TOKENS"}) {
    SCOPED_TRACE(set);
    const std::vector<std::string> sets = {"model.dropout=0.2", "train.steps=40", set};
    const std::vector<Left> eager = Eager(OnFake(set + "-eager", "transformer", sets, "on"));
    EXPECT_EQ(Repeated(OnFake(set + "-graphs", "transformer", sets, "on"), &Real), eager);
  }
}

// What fills rows up guesses nothing: a step is the CPU's, which has none.
TEST_F(StepGraphsTest, RowsThatGuessNothingChangeNothing) {
  for (const std::string target : {"NEXT", "MASKED"}) {
    SCOPED_TRACE(target);
    std::vector<Left> on;
    for (const std::string device : {"cpu", "fake"}) {
      TrainRequest request = OnFake(
          target + device, "transformer",
          {"view.target=" + target, target == "NEXT" ? "attention.causal=true" : "seed=1"}, "off");
      request.runtime.set_device(device);
      const auto run = OpenRun(request);
      ASSERT_TRUE(run.ok()) << run.status();
      const LabelObjective objective(**run);
      std::vector<int64_t> ids(40);
      std::iota(ids.begin(), ids.end(), 0);
      const HostBatch batch = MakeBatch((*run)->train, ids);
      const auto guesses = static_cast<int64_t>(batch.labels.size());
      const at::Device where = (*run)->model->parameters().device();
      EXPECT_EQ(TrainingRows(batch, where) > guesses, device == "fake") << guesses;
      auto result = objective.AddGradient(batch, 0, {.training = true, .step = 1});
      ASSERT_TRUE(result.ok()) << result.status();
      result->Read();
      double squares = 0;
      for (const Parameter& parameter : (*run)->model->parameters().parameters()) {
        const at::Tensor gradient = parameter.value.grad();
        if (gradient.defined())
          squares += gradient.cpu().to(at::kDouble).square().sum().item<double>();
      }
      on.push_back({result->loss_sum, static_cast<double>(result->correct), std::sqrt(squares)});
    }
    EXPECT_NEAR(on[0].loss, on[1].loss, 1e-4 * on[0].loss);
    EXPECT_EQ(on[0].correct, on[1].correct);
    EXPECT_NEAR(on[0].gradient_norm, on[1].gradient_norm, 1e-4 * on[0].gradient_norm);
  }
}

// Texts of unlike lengths leave unlike numbers of tokens to guess. Logits have as many rows in each
// step, and what the loss is divided by is no part of the graph.
TEST_F(StepGraphsTest, GuessedTokensStepAsWithoutGraphs) {
  const std::vector<std::string> sets = {"view.target=NEXT", "attention.causal=true",
                                         "model.dropout=0.2", "train.steps=40"};
  const TrainRequest request = OnFake("next-graphs", "linear", sets, "on");
  {
    const auto run = OpenRun(request);
    ASSERT_TRUE(run.ok()) << run.status();
    const HostBatch first = BatchAt(**run, 0), second = BatchAt(**run, 1);
    EXPECT_NE(first.labels.size(), second.labels.size());
  }
  const std::vector<Left> eager = Eager(OnFake("next-eager", "linear", sets, "on"));
  EXPECT_EQ(Repeated(request, &Real), eager);
}

// The comparison finds a step that takes its number of the host: its dropout masks stay the same.
TEST_F(StepGraphsTest, AStepThatReadsTheHostIsFound) {
  const std::vector<std::string> sets = {"model.dropout=0.2", "train.steps=40"};
  const std::vector<Left> eager = Eager(OnFake("read-eager", "linear", sets, "on"));
  const std::vector<Left> baked = Repeated(OnFake("read-graphs", "linear", sets, "on"),
                                           [](const lra::Run& run, const int64_t* step) {
                                             return std::make_unique<BakedStep>(run, step);
                                           });
  for (int64_t step = 0; step <= StepGraphs::kWarmUpSteps; ++step)
    EXPECT_EQ(baked[step], eager[step]) << step;
  EXPECT_NE(baked[StepGraphs::kWarmUpSteps + 1].loss, eager[StepGraphs::kWarmUpSteps + 1].loss);
}

TEST_F(StepGraphsTest, WhatIsUsedLeastGivesWay) {
  const auto run = OpenRun(OnFake("least", "linear", {"model.layers=1"}, "on"));
  ASSERT_TRUE(run.ok()) << run.status();
  const StreamScope stream((*run)->model->parameters().device());
  const LabelObjective objective(**run);
  const Stage stage = LabelStage(objective, run->get());
  UploadSlots uploads((*run)->model->parameters().device());
  const auto graphs = StepGraphs::Create(**run, stage, &uploads, /*most_graphs=*/2);
  int64_t step = 0;
  // Whether the last of `times` steps of so many examples was repeated.
  const auto take = [&](int64_t examples, int times) {
    bool is_repeated = false;
    for (int i = 0; i < times; ++i, ++step) {
      std::vector<int64_t> ids(examples);
      for (int64_t e = 0; e < examples; ++e) ids[e] = e;
      const auto asked =
          graphs->Take(MakeBatch((*run)->train, ids), step, objective.MakeSchedule(0).At(0));
      EXPECT_TRUE(asked.ok()) << asked.status();
      is_repeated = asked->is_repeated;
    }
    return is_repeated;
  };
  EXPECT_TRUE(take(2, 10));
  EXPECT_TRUE(take(3, 5));
  EXPECT_FALSE(take(4, 9)) << "not twice as often as 3 examples";
  EXPECT_TRUE(take(4, 1)) << "now it is";
  EXPECT_FALSE(take(3, 1));
  EXPECT_TRUE(take(2, 1)) << "used too often to go";
  EXPECT_EQ(graphs->captures(), 3);
}

TEST_F(StepGraphsTest, SaysWhyNot) {
  const auto note = [](const std::string& set, int micro_batch = 0) {
    TrainRequest request = OnFake("why-" + set, "linear", {set}, "on");
    request.runtime.set_micro_batch_examples(micro_batch);
    return NoteOf(request);
  };
  EXPECT_THAT(note("model.layers=1", 2), HasSubstr("in parts"));
  // Nobody asked, so nobody is told.
  EXPECT_EQ(NoteOf(OnFake("off", "linear", {}, "off")).find("graphs:"), std::string::npos);
  TrainRequest on_host = Request("host", "linear", {});
  on_host.graphs = "on";
  EXPECT_EQ(OpenRun(on_host).status().code(), absl::StatusCode::kInvalidArgument);
  on_host.graphs = "auto";
  EXPECT_TRUE(OpenRun(on_host).ok());
  EXPECT_THAT(std::string(OpenRun(OnFake("x", "linear", {}, "often")).status().message()),
              HasSubstr("must be auto, on or off"));
}

// Through the whole loop: curve points, which are read, lie between repeated steps. Gives the last
// validation's loss.
double ExpectTrainsAsWithoutGraphs(const TrainRequest& eager, const TrainRequest& repeated) {
  const auto without = TrainRun(eager), with = TrainRun(repeated);
  EXPECT_TRUE(without.ok()) << without.status();
  EXPECT_TRUE(with.ok()) << with.status();
  if (!with.ok() || !without.ok() || with->curve_size() != 4) return -1;
  EXPECT_GT(with->efficiency().graph_steps(), 20);
  EXPECT_EQ(without->efficiency().graph_steps(), 0);
  for (int i = 0; i < with->curve_size(); ++i) {
    const CurvePoint &here = with->curve(i), &there = without->curve(i);
    EXPECT_NEAR(here.train_loss(), there.train_loss(), 1e-5);
    EXPECT_NEAR(here.gradient_norm(), there.gradient_norm(), 1e-4);
    EXPECT_NEAR(here.validation_loss(), there.validation_loss(), 1e-5);
  }
  return with->curve(3).validation_loss();
}

TEST_F(StepGraphsTest, TrainsAsWithoutGraphs) {
  std::vector<std::string> sets = {"train.steps=40", "train.log_every_steps=10",
                                   "train.eval_every_steps=20"};
  const double last = ExpectTrainsAsWithoutGraphs(OnFake("without", "cosformer", sets, "off"),
                                                  OnFake("with", "cosformer", sets, "on"));
  sets.push_back("optimizer.average_decay=0.9");
  const double of_average =
      ExpectTrainsAsWithoutGraphs(OnFake("average-without", "cosformer", sets, "off"),
                                  OnFake("average-with", "cosformer", sets, "on"));
  sets.push_back("optimizer.kind=RADAM");  // goes by factors
  ExpectTrainsAsWithoutGraphs(OnFake("factors-without", "linear", sets, "off"),
                              OnFake("factors-with", "linear", sets, "on"));
  EXPECT_GT(last, 0);
  EXPECT_NE(of_average, last) << "the average is judged";
}

TEST_F(StepGraphsTest, AFailureIsThatOfItsStep) {
  const std::vector<std::string> sets = {
      "train.steps=200",           "schedule.learning_rate=1000", "schedule.warmup_fraction=0",
      "schedule.kind=CONSTANT",    "optimizer.clip_norm=0",       "optimizer.weight_decay=10",
      "train.log_every_steps=100", "train.eval_every_steps=100"};
  const TrainRequest request = OnFake("diverges", "transformer", sets, "on");
  EXPECT_TRUE(HasDiverged(TrainRun(request).status()));
  const auto record = ReadRunRecord(request.runtime.out_dir());
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->failure().kind(), RunFailure::DIVERGED);
  EXPECT_GT(record->failure().step(), 0);
  EXPECT_THAT(record->failure().cause(), HasSubstr("not finite at step"));
}

}  // namespace
}  // namespace lra
