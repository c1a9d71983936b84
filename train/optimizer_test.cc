#include "train/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "train/optimizer_test_util.h"

namespace lra {
namespace {

// AdamW on one scalar, written from the definition: decay and update both use the scheduled rate,
// and moments are bias-corrected.
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

TEST(Optimizer, EqualsTheDefinitionAndDecaysMatricesOnly) {
  ParameterStore store(1);
  store.Create("matrix", {3, 4}, Initializer::XavierUniform());
  store.Create("bias", {4}, Initializer::Ones());
  Optimizer optimizer(Config(0, OptimizerConfig::MATRICES), store);
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

// The expected values are those of PyTorch 2's torch.optim classes in float64 for p = [0.5, -1, 2,
// 0.25] with the gradient 0.3 p + [0.1, -0.2, 0.4, -0.05] (t mod 3 - 0.5) at t = 0, 1, ..., rate
// 0.01 and decay 0.1: p after 5 steps and after 12. RAdam's rectification begins at its sixth step.
struct Golden {
  const char* name;
  OptimizerConfig::Kind kind;
  OptimizerConfig::Decay decay;
  std::vector<double> after5, after12;
};

const Golden kGolden[] = {
    {"RAdam",
     OptimizerConfig::RADAM,
     OptimizerConfig::COUPLED,
     {0.489366701, -0.978733403, 1.957466806, 0.245360083},
     {0.476430895, -0.965791762, 1.944522269, 0.233721473}},
    {"RAdam, decoupled",
     OptimizerConfig::RADAM,
     OptimizerConfig::DECOUPLED,
     {0.489376156, -0.978752313, 1.957504625, 0.245364435},
     {0.473389122, -0.959344135, 1.931262833, 0.233435023}},
    {"Adam",
     OptimizerConfig::ADAM,
     OptimizerConfig::COUPLED,
     {0.451550543, -0.951518489, 1.951503854, 0.204785936},
     {0.385377425, -0.884820205, 1.8845676, 0.150338836}},
    {"AdamW",
     OptimizerConfig::ADAM,
     OptimizerConfig::DECOUPLED,
     {0.450152236, -0.947616467, 1.942607358, 0.206761683},
     {0.382836135, -0.876274872, 1.864066309, 0.159411597}},
};

void ExpectValues(const at::Tensor& value, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(value[static_cast<int64_t>(i)].item<double>(), expected[i], 2e-6)
        << "element " << i;
  }
}

TEST(Optimizer, EqualsPyTorch) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.name);
    ParameterStore store(1);
    at::Tensor p = store.Create("p", {4}, Initializer::Zeros());
    {
      const c10::NoGradGuard no_gradient;
      p.copy_(at::tensor({0.5, -1.0, 2.0, 0.25}));
    }
    OptimizerConfig config = Config(0, OptimizerConfig::ALL_PARAMETERS);
    config.set_kind(golden.kind);
    config.set_decay(golden.decay);
    Optimizer optimizer(config, store);
    for (int t = 0; t < 12; ++t) {
      p.mutable_grad() = 0.3 * p.detach() + at::tensor({0.1f, -0.2f, 0.4f, -0.05f}) * (t % 3 - 0.5);
      optimizer.Step({0.01, 0.9f});
      if (t == 4) ExpectValues(p, golden.after5);
    }
    ExpectValues(p, golden.after12);
  }
}

// The first step of Adam moves every element by the rate, so the smaller rate of the state space
// shows.
TEST(Optimizer, AStateSpaceHasARateOfItsOwnAndNoDecay) {
  for (const double own_rate : {0.0, 0.002}) {
    ParameterStore store(1);
    store.Create("step", {2}, Initializer::Ones(), ParameterRole::kStateSpace);
    store.Create("other", {2}, Initializer::Ones());
    OptimizerConfig config = Config(0, OptimizerConfig::ALL_PARAMETERS);
    config.set_state_space_learning_rate(static_cast<float>(own_rate));
    Optimizer optimizer(config, store);
    SetGradient(store, 1);
    optimizer.Step({0.01, 0.9f});
    const double decayed = 1 - 0.01 * 0.1 - 0.01;
    EXPECT_NEAR(store.parameters()[0].value[0].item<double>(), own_rate > 0 ? 0.998 : decayed,
                1e-6);
    EXPECT_NEAR(store.parameters()[1].value[0].item<double>(), decayed, 1e-6);
    SetGradient(store, 1);
    optimizer.Step({0.001, 0.9f});  // a scheduled rate below its own is used
    if (own_rate > 0) {
      EXPECT_NEAR(store.parameters()[0].value[0].item<double>(), 0.997, 1e-6);
    }
  }
}

// The first step of Adam moves every element by its rate, and decay by rate * decay on top: values
// that start at 1 show both.
TEST(Optimizer, RatesAndDecayOfAStateSpaceFollowWhatTheyCover) {
  const struct {
    bool covers_step, covers_read_out;
    double step, read_out;
  } kCases[] = {{false, false, 1 - 0.01, 1 - 0.01 - 0.01 * 0.1},
                {true, true, 1 - 0.002, 1 - 0.002 - 0.002 * 0.1}};
  for (const auto& expected : kCases) {
    ParameterStore store(1);
    store.Create("step", {2}, Initializer::Ones(), ParameterRole::kTimeStep);
    store.Create("decay", {2}, Initializer::Ones(), ParameterRole::kStateSpace);
    store.Create("read_out", {2}, Initializer::Ones(), ParameterRole::kReadOut);
    OptimizerConfig config = Config(0, OptimizerConfig::ALL_BUT_NORMS_AND_LAYER_BIASES);
    config.set_state_space_learning_rate(0.002f);
    config.set_state_space_rate_covers_step(expected.covers_step);
    config.set_state_space_rate_covers_read_out(expected.covers_read_out);
    Optimizer optimizer(config, store);
    SetGradient(store, 1);
    optimizer.Step({0.01, 0.9f});
    const auto value = [&](int i) { return store.parameters()[i].value[0].item<double>(); };
    EXPECT_NEAR(value(0), expected.step, 1e-6);
    EXPECT_NEAR(value(1), 1 - 0.002, 1e-6);
    EXPECT_NEAR(value(2), expected.read_out, 1e-6);
  }
}

// The first step of Adam moves every element by its rate.
TEST(Optimizer, RatesFallFromTheHeadToTheEmbedding) {
  ParameterStore store(1);
  const struct {
    const char* name;
    double rate;
  } kExpected[] = {{"head.logits.weight", 0.01},
                   {"encoder.norm.weight", 0.01},
                   {"encoder.layer1.mlp.weight", 0.005},
                   {"encoder.layer0.mlp.weight", 0.0025},
                   {"embedding.token.weight", 0.00125}};
  for (const auto& expected : kExpected)
    store.Create(expected.name, {2, 2}, Initializer::Ones(),
                 ParameterRole::kNorm);  // whatever the role
  OptimizerConfig config = Config(0, OptimizerConfig::ALL_BUT_NORMS_AND_LAYER_BIASES);
  config.set_layer_rate_decay(0.5f);
  Optimizer optimizer(config, store);
  SetGradient(store, 1);
  optimizer.Step({0.01, 0.9f});
  for (size_t i = 0; i < std::size(kExpected); ++i) {
    EXPECT_NEAR(1 - store.parameters()[i].value.flatten()[0].item<double>(), kExpected[i].rate,
                1e-6)
        << kExpected[i].name;
  }
}

// Trains one scalar and a buffer; the averages are those of the definition, and neither training
// nor what is saved and restored depends on how often they are looked at.
TEST(Optimizer, TheAverageIsThatOfItsDefinitionAndSurvivesACheckpoint) {
  OptimizerConfig config = Config(0, OptimizerConfig::ALL_PARAMETERS);
  config.set_average_decay(0.6f);
  ParameterStore plain(1), averaged(1), restored(1);
  for (ParameterStore* store : {&plain, &averaged, &restored}) {
    store->Create("w", {1}, Initializer::Ones());
    store->CreateBuffer("statistics", {1}, Initializer::Zeros());
  }
  OptimizerConfig without = config;
  without.clear_average_decay();
  Optimizer trains_plain(without, plain), trains(config, averaged), goes_on(config, restored);
  const auto value = [](const ParameterStore& store) {
    return store.parameters()[0].value.item<double>();
  };
  const auto step = [](Optimizer* optimizer, ParameterStore* store, int t) {
    SetGradient(*store, std::sin(3.0 * t));
    at::Tensor(store->buffers()[0].value).fill_(t * t);
    optimizer->Step({0.1, 0.9f});
  };
  double expected = 1, expected_buffer = 0;
  for (int t = 1; t <= 12; ++t) {
    step(&trains_plain, &plain, t);
    step(&trains, &averaged, t);
    const double decay = std::min(0.6, t / (9.0 + t));
    expected = decay * expected + (1 - decay) * value(plain);
    expected_buffer = decay * expected_buffer + (1 - decay) * t * t;
    EXPECT_EQ(value(averaged), value(plain)) << "averaging changed training at step " << t;
    const WeightAverage::Scope judged = trains.UseJudgedWeights();
    EXPECT_NEAR(value(averaged), expected, 1e-6) << t;
    EXPECT_NEAR(averaged.buffers()[0].value.item<double>(), expected_buffer, 1e-4) << t;
    if (t != 7) continue;
    const c10::NoGradGuard no_gradient;  // what a checkpoint does
    at::Tensor(restored.parameters()[0].value).copy_(averaged.parameters()[0].value);
    at::Tensor(restored.buffers()[0].value).copy_(averaged.buffers()[0].value);
    std::vector<std::pair<std::string, at::Tensor>> saved;
    for (const auto& [name, tensor] : trains.State()) saved.emplace_back(name, tensor.clone());
    ASSERT_TRUE(goes_on.Restore(saved).ok());
  }
  for (int t = 8; t <= 12; ++t) step(&goes_on, &restored, t);
  EXPECT_EQ(value(restored), value(averaged));
  const WeightAverage::Scope judged = trains.UseJudgedWeights();
  const WeightAverage::Scope also = goes_on.UseJudgedWeights();
  EXPECT_EQ(value(restored), value(averaged));
  EXPECT_NE(value(averaged), value(plain));
}

TEST(Optimizer, NormsAndLayerBiasesAreLeftOutOfDecay) {
  ParameterStore store(1);
  for (const char* decaying : {"embedding.value.bias", "head.logits.bias", "embedding.token.weight",
                               "encoder.layer0.attention.skip"})
    store.Create(decaying, {2}, Initializer::Ones());
  store.Create("encoder.layer0.attention.output.bias", {2}, Initializer::Ones());
  store.Create("encoder.layer0.norm.weight", {2}, Initializer::Ones(), ParameterRole::kNorm);
  Optimizer optimizer(Config(0, OptimizerConfig::ALL_BUT_NORMS_AND_LAYER_BIASES), store);
  SetGradient(store, 0);
  optimizer.Step({0.5, 0.9f});
  for (size_t i = 0; i < store.parameters().size(); ++i) {
    EXPECT_NEAR(store.parameters()[i].value[0].item<double>(), i < 4 ? 1 - 0.5 * 0.1 : 1, 1e-6)
        << store.parameters()[i].name;
  }
}

TEST(Optimizer, ClampsEachGradientBeforeTheNormIsTaken) {
  ParameterStore store(1);
  store.Create("a", {4}, Initializer::Zeros());
  OptimizerConfig config = Config(1, OptimizerConfig::MATRICES);
  config.set_clip_value(0.5f);
  Optimizer optimizer(config, store);
  at::Tensor a = store.parameters()[0].value;
  a.mutable_grad() = at::tensor({3.0f, -4.0f, 0.1f, 0.0f});
  EXPECT_NEAR(optimizer.Step({0.0, 0.9f}), std::sqrt(25.01), 1e-5);
  ExpectValues(a.grad(), {0.5, -0.5, 0.1, 0});  // the norm is 0.714, below 1
  a.mutable_grad() = at::tensor({3.0f, -4.0f, 5.0f, 6.0f});
  config.set_clip_norm(0.2f);
  Optimizer strict(config, store);
  strict.Step({0.0, 0.9f});
  ExpectValues(a.grad(), {0.1, -0.1, 0.1, 0.1});  // the clamped norm is 1, scaled to 0.2
  a.mutable_grad() = at::tensor({INFINITY, 0.0f, 0.0f, 0.0f});
  EXPECT_TRUE(std::isinf(optimizer.Step({0.0, 0.9f}))) << "clamping hid an infinity";
}

TEST(Optimizer, TellsHowFarTheWeightsMoved) {
  ParameterStore store(1);
  store.Create("embedding.token.weight", {4}, Initializer::Constant(2));  // norm 4
  store.Create("embedding.position.weight", {1}, Initializer::Zeros());
  store.Create("embedding.stem.filter", {2}, Initializer::Zeros());
  store.Create("w", {3}, Initializer::Ones());  // norm sqrt(3)
  Optimizer optimizer(Config(0, OptimizerConfig::MATRICES), store);
  SetGradient(store, 1);
  UpdateRatios ratios;
  optimizer.Step({0.01, 0.9f}, &ratios);  // each of 10 elements moves by 0.01
  EXPECT_NEAR(ratios.all, std::sqrt(10 * 1e-4 / 19), 1e-6);
  EXPECT_NEAR(ratios.embedding, 0.02 / 4, 1e-6);
}

TEST(Optimizer, DecaysEverythingOnRequest) {
  ParameterStore store(1);
  store.Create("bias", {4}, Initializer::Ones());
  Optimizer optimizer(Config(0, OptimizerConfig::ALL_PARAMETERS), store);
  SetGradient(store, 0);
  optimizer.Step({0.5, 0.9f});
  EXPECT_NEAR(store.parameters()[0].value[0].item<double>(), 1 - 0.5 * 0.1, 1e-6);
}

TEST(Optimizer, ClipsTheGlobalNorm) {
  ParameterStore store(1);
  store.Create("a", {9}, Initializer::Zeros());
  store.Create("b", {4, 4}, Initializer::XavierUniform());
  Optimizer optimizer(Config(1, OptimizerConfig::MATRICES), store);
  SetGradient(store, 2);  // norm 2 * sqrt(25)
  EXPECT_NEAR(optimizer.Step({0.0, 0.9f}), 10, 1e-5);
  EXPECT_NEAR(store.parameters()[0].value.grad()[0].item<double>(), 0.2, 1e-6);
  SetGradient(store, 0.1);  // a norm of 0.5 is left alone
  EXPECT_NEAR(optimizer.Step({0.0, 0.9f}), 0.5, 1e-6);
  EXPECT_NEAR(store.parameters()[1].value.grad()[0][0].item<double>(), 0.1, 1e-7);
}

TEST(Optimizer, ClipsEachGradientByItsOwnNorm) {
  ParameterStore store(1);
  store.Create("a", {2}, Initializer::Zeros());
  store.Create("b", {3}, Initializer::Zeros());
  OptimizerConfig config = Config(1, OptimizerConfig::MATRICES);
  config.set_clip_scope(OptimizerConfig::EACH_PARAMETER);
  Optimizer optimizer(config, store);
  at::Tensor a = store.parameters()[0].value, b = store.parameters()[1].value;
  a.mutable_grad() = at::tensor({3.0f, -4.0f});
  b.mutable_grad() = at::tensor({0.0f, 0.6f, 0.0f});
  EXPECT_NEAR(optimizer.Step({0.0, 0.9f}), std::sqrt(25.36), 1e-5);
  ExpectValues(a.grad(), {0.6, -0.8});
  ExpectValues(b.grad(), {0, 0.6, 0});  // its norm is below 1
}

TEST(Optimizer, LeavesEverythingAloneWhenTheNormIsNotFinite) {
  ParameterStore store(1);
  store.Create("a", {2}, Initializer::Ones());
  Optimizer optimizer(Config(1, OptimizerConfig::MATRICES), store);
  SetGradient(store, std::nan(""));
  EXPECT_TRUE(std::isnan(optimizer.Step({0.1, 0.9f})));
  EXPECT_EQ(store.parameters()[0].value[0].item<double>(), 1);
  EXPECT_EQ(optimizer.State()[2].second.item<double>(), 0) << "a step was counted";
}

TEST(Optimizer, RestoredStateGoesOnBitForBit) {
  ParameterStore one(3), two(3);
  for (ParameterStore* store : {&one, &two})
    store->Create("w", {5, 7}, Initializer::XavierUniform());
  const OptimizerConfig config = Config(1, OptimizerConfig::MATRICES);
  Optimizer first(config, one), undisturbed(config, two);
  for (Optimizer* optimizer : {&first, &undisturbed}) {
    SetGradient(optimizer == &first ? one : two, 0.7);
    optimizer->Step({0.1, 0.9f});
  }
  Optimizer second(config, one);
  ASSERT_TRUE(second.Restore(first.State()).ok());
  SetGradient(one, -0.4), SetGradient(two, -0.4);
  second.Step({0.1, 0.9f}), undisturbed.Step({0.1, 0.9f});
  EXPECT_TRUE(one.parameters()[0].value.equal(two.parameters()[0].value));
}

TEST(Optimizer, RestoreNamesWhatIsMissing) {
  ParameterStore store(1);
  store.Create("w", {2}, Initializer::Ones());
  Optimizer optimizer(Config(1, OptimizerConfig::MATRICES), store);
  auto state = optimizer.State();
  state.pop_back();
  const absl::Status status = optimizer.Restore(state);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("step/w"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace lra
