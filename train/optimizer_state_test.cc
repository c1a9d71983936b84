// What the optimiser holds beside the weights, where weights or moments come from elsewhere.
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "train/optimizer.h"
#include "train/optimizer_test_util.h"

namespace lra {
namespace {

// A run that starts from another's weights, or from pretraining, was made with random ones.
TEST(OptimizerState, TheAverageBeginsAsTheWeightsThatWereLoaded) {
  OptimizerConfig config = Config(0, OptimizerConfig::ALL_PARAMETERS);
  config.set_average_decay(0.6f);
  ParameterStore store(1);
  store.Create("w", {1}, Initializer::Ones());
  Optimizer optimizer(config, store);
  {
    const c10::NoGradGuard no_gradient;
    at::Tensor(store.parameters()[0].value).fill_(5);
  }
  optimizer.BeginAverage();
  SetGradient(store, 1);
  optimizer.Step({0.1, 0.9f});  // by the rate, and by the decay of 0.01 times 5
  const double trained = 5 - 0.1 - 0.1 * 0.1 * 5;
  EXPECT_NEAR(store.parameters()[0].value.item<double>(), trained, 1e-5);
  const WeightAverage::Scope judged = optimizer.UseJudgedWeights();
  EXPECT_NEAR(store.parameters()[0].value.item<double>(), 0.1 * 5 + 0.9 * trained, 1e-5);
}

// What ranks do that rank 0 gives its state to: RADAM goes by the number of updates on the host.
TEST(OptimizerState, StateThatWasFilledInGoesOnBitForBit) {
  ParameterStore one(3), two(3);
  for (ParameterStore* store : {&one, &two})
    store->Create("w", {5, 7}, Initializer::XavierUniform());
  OptimizerConfig config = Config(1, OptimizerConfig::MATRICES);
  config.set_kind(OptimizerConfig::RADAM);
  Optimizer first(config, one), second(config, two);
  const auto step = [](Optimizer* optimizer, const ParameterStore& store, double gradient) {
    SetGradient(store, gradient);
    optimizer->Step({0.1, 0.9f});
  };
  for (const double gradient : {0.7, -0.4, 0.2, 0.5, -0.1, 0.6, 0.3}) step(&first, one, gradient);
  {
    const c10::NoGradGuard no_gradient;
    at::Tensor(two.parameters()[0].value).copy_(one.parameters()[0].value);
    const auto from = first.State(), to = second.State();
    for (size_t i = 0; i < to.size(); ++i) at::Tensor(to[i].second).copy_(from[i].second);
  }
  second.CountFromSteps();
  for (const double gradient : {-0.5, 0.4}) {
    step(&first, one, gradient);
    step(&second, two, gradient);
  }
  EXPECT_TRUE(one.parameters()[0].value.equal(two.parameters()[0].value));
}

}  // namespace
}  // namespace lra
