#include "train/optimizer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lra {
namespace {

OptimizerConfig Config(double clip, OptimizerConfig::DecayScope scope) {
  OptimizerConfig config;
  config.set_beta1(0.9f);
  config.set_beta2(0.98f);
  config.set_epsilon(1e-8f);
  config.set_weight_decay(0.1f);
  config.set_decay_scope(scope);
  config.set_clip_norm(static_cast<float>(clip));
  return config;
}

void SetGradient(const ParameterStore& store, double value) {
  for (const Parameter& parameter : store.parameters()) {
    at::Tensor(parameter.value).mutable_grad() = at::full(parameter.value.sizes(), value);
  }
}

// One scalar by the definition: decay and update both use the scheduled rate, moments are
// bias-corrected.
struct ScalarAdamW {
  double value, m = 0, v = 0;
  int t = 0;
  void Step(double gradient, double rate, double decay) {
    ++t;
    m = 0.9 * m + 0.1 * gradient;
    v = 0.98 * v + 0.02 * gradient * gradient;
    const double update =
        (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.98, t))) + 1e-8);
    value -= rate * decay * value + rate * update;
  }
};

TEST(AdamW, EqualsTheDefinitionAndDecaysMatricesOnly) {
  ParameterStore store(1);
  store.Create("matrix", {3, 4}, Initializer::XavierUniform());
  store.Create("bias", {4}, Initializer::Ones());
  AdamW optimizer(Config(0, OptimizerConfig::MATRICES), store);
  ScalarAdamW matrix{store.parameters()[0].value.flatten()[5].item<double>()}, bias{1.0};
  for (int step = 0; step < 5; ++step) {
    const double gradient = 0.3 - 0.2 * step, rate = 0.01 * (step + 1);
    SetGradient(store, gradient);
    optimizer.Step({rate, 0.9f});
    matrix.Step(gradient, rate, 0.1);
    bias.Step(gradient, rate, 0.0);
  }
  EXPECT_NEAR(store.parameters()[0].value.flatten()[5].item<double>(), matrix.value, 2e-6);
  EXPECT_NEAR(store.parameters()[1].value[2].item<double>(), bias.value, 2e-6);
}

TEST(AdamW, DecaysEverythingOnRequest) {
  ParameterStore store(1);
  store.Create("bias", {4}, Initializer::Ones());
  AdamW optimizer(Config(0, OptimizerConfig::ALL_PARAMETERS), store);
  SetGradient(store, 0);
  optimizer.Step({0.5, 0.9f});
  EXPECT_NEAR(store.parameters()[0].value[0].item<double>(), 1 - 0.5 * 0.1, 1e-6);
}

TEST(AdamW, ClipsTheGlobalNorm) {
  ParameterStore store(1);
  store.Create("a", {9}, Initializer::Zeros());
  store.Create("b", {4, 4}, Initializer::XavierUniform());
  AdamW optimizer(Config(1, OptimizerConfig::MATRICES), store);
  SetGradient(store, 2);  // norm 2 * sqrt(25)
  EXPECT_NEAR(optimizer.Step({0.0, 0.9f}), 10, 1e-5);
  EXPECT_NEAR(store.parameters()[0].value.grad()[0].item<double>(), 0.2, 1e-6);
  SetGradient(store, 0.1);  // norm 0.5: left alone
  EXPECT_NEAR(optimizer.Step({0.0, 0.9f}), 0.5, 1e-6);
  EXPECT_NEAR(store.parameters()[1].value.grad()[0][0].item<double>(), 0.1, 1e-7);
}

TEST(AdamW, LeavesEverythingAloneWhenTheNormIsNotFinite) {
  ParameterStore store(1);
  store.Create("a", {2}, Initializer::Ones());
  AdamW optimizer(Config(1, OptimizerConfig::MATRICES), store);
  SetGradient(store, std::nan(""));
  EXPECT_TRUE(std::isnan(optimizer.Step({0.1, 0.9f})));
  EXPECT_EQ(store.parameters()[0].value[0].item<double>(), 1);
  EXPECT_EQ(optimizer.State()[2].second.item<double>(), 0) << "a step was counted";
}

TEST(AdamW, RestoredStateGoesOnBitForBit) {
  ParameterStore one(3), two(3);
  for (ParameterStore* store : {&one, &two})
    store->Create("w", {5, 7}, Initializer::XavierUniform());
  const OptimizerConfig config = Config(1, OptimizerConfig::MATRICES);
  AdamW first(config, one), undisturbed(config, two);
  for (AdamW* optimizer : {&first, &undisturbed}) {
    SetGradient(optimizer == &first ? one : two, 0.7);
    optimizer->Step({0.1, 0.9f});
  }
  AdamW second(config, one);
  ASSERT_TRUE(second.Restore(first.State()).ok());
  SetGradient(one, -0.4), SetGradient(two, -0.4);
  second.Step({0.1, 0.9f}), undisturbed.Step({0.1, 0.9f});
  EXPECT_TRUE(one.parameters()[0].value.equal(two.parameters()[0].value));
}

TEST(AdamW, RestoreNamesWhatIsMissing) {
  ParameterStore store(1);
  store.Create("w", {2}, Initializer::Ones());
  AdamW optimizer(Config(1, OptimizerConfig::MATRICES), store);
  auto state = optimizer.State();
  state.pop_back();
  const absl::Status status = optimizer.Restore(state);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("step/w"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace lra
