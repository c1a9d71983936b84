// Steps on a device, as the fake one shows them.
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/base/fake_device.h"
#include "train/optimizer_test_util.h"

namespace lra {
namespace {

struct Rule {
  OptimizerConfig::Kind kind;
  OptimizerConfig::Decay decay;
  bool moves_beta1;
};

class OnADevice : public testing::TestWithParam<Rule> {
 protected:
  static OptimizerConfig ConfigOf(float weight_decay) {
    OptimizerConfig config = Config(weight_decay, OptimizerConfig::MATRICES);
    config.set_kind(GetParam().kind);
    config.set_decay(GetParam().decay);
    return config;
  }
  // beta1 falls from step to step where the rule moves it.
  static ScheduleValue ValueAt(int step) {
    const bool moves = GetParam().moves_beta1;
    return {0.1, moves ? 0.95 - 0.01 * step : 0.9f, moves};
  }
  static void ExpectStepsAsTheHost(OptimizerConfig::ClipScope scope);
};
INSTANTIATE_TEST_SUITE_P(
    Optimizer, OnADevice,
    testing::Values(Rule{OptimizerConfig::ADAM, OptimizerConfig::DECOUPLED, false},
                    Rule{OptimizerConfig::ADAM, OptimizerConfig::DECOUPLED, true},
                    Rule{OptimizerConfig::ADAM, OptimizerConfig::COUPLED, true},
                    Rule{OptimizerConfig::RADAM, OptimizerConfig::DECOUPLED, false},
                    Rule{OptimizerConfig::RADAM, OptimizerConfig::COUPLED, false}));

void OnADevice::ExpectStepsAsTheHost(OptimizerConfig::ClipScope scope) {
  ParameterStore host(3), device(3);
  const at::Device fake = FakeDevice();
  for (ParameterStore* store : {&host, &device}) {
    store->Create("a", {4}, Initializer::Zeros());
    store->Create("b", {3, 5}, Initializer::XavierUniform());
  }
  device.MoveTo(fake);
  const at::Tensor one = at::ones({}, fake);
  OptimizerConfig config = ConfigOf(0.5);
  config.set_clip_value(0.3f);
  config.set_clip_scope(scope);
  Optimizer of_host(config, host), of_device(config, device);
  EXPECT_TRUE(of_device.can_step_on_device());
  EXPECT_FALSE(of_host.can_step_on_device());
  int step = 0;
  for (const double gradient : {0.01, 2.0, -0.2, 0.1, 0.3, -0.1, 0.2}) {
    SetGradient(host, gradient), SetGradient(device, gradient);
    TakeFakeDeviceWork();
    const at::Tensor norm = of_device.StepOnDevice(ValueAt(step), one);
    const FakeDeviceWork work = TakeFakeDeviceWork();
    EXPECT_TRUE(work.host_reads.empty() && work.uploads.empty());
    EXPECT_NEAR(of_host.Step(ValueAt(step++)), norm.item<double>(), 1e-6);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(
          at::allclose(device.parameters()[i].value.cpu(), host.parameters()[i].value, 1e-6, 1e-7));
    }
  }
}

TEST_P(OnADevice, StepsAsTheHostWithoutWaiting) {
  ExpectStepsAsTheHost(OptimizerConfig::ALL_GRADIENTS);
}

TEST_P(OnADevice, ClipsEachGradientAsTheHost) {
  ExpectStepsAsTheHost(OptimizerConfig::EACH_PARAMETER);
}

// What a device refuses in the middle of a step is no update.
TEST_P(OnADevice, AStepThatThrowsIsNotCounted) {
  ParameterStore store(1);
  const at::Device fake = FakeDevice();
  store.Create("a", {2}, Initializer::Ones());
  store.MoveTo(fake);
  OptimizerConfig config = ConfigOf(1);
  config.set_average_decay(0.9f);
  Optimizer optimizer(config, store);
  const at::Tensor loss = at::ones({}, fake), before = optimizer.Rates(ValueAt(0));
  SetGradient(store, 0.1);
  // Groups behind the first one lack their rates.
  EXPECT_THROW(optimizer.StepOnDevice(ValueAt(0), loss, before.narrow(0, 0, 1).to(fake)),
               c10::Error);
  EXPECT_TRUE(optimizer.Rates(ValueAt(0)).equal(before));
  optimizer.StepOnDevice(ValueAt(0), loss);
  EXPECT_FALSE(optimizer.Rates(ValueAt(0)).equal(before)) << "the share of the average moves";
}

TEST_P(OnADevice, NothingChangesOnceANumberIsNotFinite) {
  ParameterStore store(1);
  const at::Device fake = FakeDevice();
  store.Create("a", {2}, Initializer::Ones());
  store.MoveTo(fake);
  const at::Tensor loss = at::ones({}, fake);
  for (const bool is_norm : {true, false}) {
    Optimizer optimizer(ConfigOf(1), store);
    SetGradient(store, 0.1);
    optimizer.StepOnDevice(ValueAt(0), loss);
    const at::Tensor before = store.parameters()[0].value.detach().cpu();
    SetGradient(store, is_norm ? INFINITY : 0.1);
    const at::Tensor norm = optimizer.StepOnDevice(ValueAt(1), is_norm ? loss : loss / 0);
    EXPECT_EQ(std::isfinite(norm.item<double>()), !is_norm);
    SetGradient(store, 0.1);  // of a step that was under way
    optimizer.StepOnDevice(ValueAt(0), loss);
    EXPECT_TRUE(store.parameters()[0].value.detach().cpu().equal(before));
    EXPECT_EQ(optimizer.State()[2].second.item<double>(), 1) << "a void step was counted";
  }
}

// What a forward pass had learned before the step was known to fail; the average takes it in, too.
TEST_P(OnADevice, StatisticsOfAVoidStepAreVoid) {
  ParameterStore store(1);
  const at::Device fake = FakeDevice();
  store.Create("a", {2}, Initializer::Ones());
  const at::Tensor mean = store.CreateStatistic("mean", {3}, Initializer::Zeros());
  const at::Tensor count = store.CreateStatistic("count", {}, Initializer::Ones());
  store.CreateBuffer("drawn", {2}, Initializer::Normal(1));
  store.MoveTo(fake);
  OptimizerConfig config = ConfigOf(1);
  config.set_average_decay(0.9f);
  Optimizer optimizer(config, store);
  const at::Tensor loss = at::ones({}, fake), bad = loss / 0;
  const auto step = [&](double learned, const at::Tensor& of_step) {
    SetGradient(store, 0.1);
    TakeFakeDeviceWork();
    const StatisticsBefore before(store);
    mean.fill_(learned), count.fill_(learned);
    optimizer.StepOnDevice(ValueAt(0), of_step, {}, &before);
    const FakeDeviceWork work = TakeFakeDeviceWork();
    EXPECT_TRUE(work.host_reads.empty() && work.uploads.empty());
  };
  step(2, loss);
  step(NAN, bad);
  step(3, loss);  // was under way
  EXPECT_TRUE(mean.cpu().eq(2).all().item<bool>());
  EXPECT_EQ(count.item<float>(), 2);
  const WeightAverage::Scope judged = optimizer.UseJudgedWeights();
  EXPECT_TRUE(mean.cpu().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace lra
