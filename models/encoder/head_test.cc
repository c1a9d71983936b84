#include "models/encoder/head.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lra {
namespace {

constexpr int64_t kClassifiedWidth = 5, kClasses = 3;

ModelConfig Config(ModelConfig::Head head, ModelConfig::PairHead pair_head,
                   ModelConfig::HeadActivation activation) {
  ModelConfig config;
  config.set_width(kClassifiedWidth);
  config.set_head_width(7);
  config.set_head(head);
  config.set_pair_head(pair_head);
  config.set_head_activation(activation);
  return config;
}

at::Tensor Find(const ParameterStore& store, const std::string& name) {
  for (const Parameter& parameter : store.parameters()) {
    if (parameter.name == name) return parameter.value.detach();
  }
  ADD_FAILURE() << name << " is not there";
  return at::Tensor();
}

// x W^T + b with W [out, in] from the store; biases are first made different from 0.
at::Tensor Dense(const ParameterStore& store, const std::string& name, const at::Tensor& x) {
  const at::Tensor bias = Find(store, name + ".bias");
  bias.copy_(at::arange(bias.size(0)) * 0.1);
  return at::matmul(x, Find(store, name + ".weight").t()) + bias;
}

at::Tensor Relu(const at::Tensor& x) { return x.clamp_min(0); }
at::Tensor Gelu(const at::Tensor& x) { return x * 0.5 * (1 + at::erf(x / std::sqrt(2.0))); }

class HeadTest : public testing::Test {
 protected:
  void Expect(const ModelConfig& config, bool is_pair, const std::vector<std::string>& maps,
              const at::Tensor& features, const std::function<at::Tensor(at::Tensor)>& activation) {
    ParameterStore store(2);
    const Head head(config, is_pair, kClasses, &store);
    ASSERT_EQ(store.parameters().size(), 2 * maps.size());
    at::Tensor x = features;
    for (const std::string& map : maps) {
      x = Dense(store, map, x);
      if (map != "head.logits") x = activation(x);
    }
    EXPECT_EQ(x.sizes(), at::IntArrayRef({4, kClasses}));
    const at::Tensor logits = head.Forward(a_, is_pair ? b_ : at::Tensor());
    EXPECT_TRUE(at::allclose(logits, x, 1e-5, 1e-5)) << logits << x;
  }

  const at::Tensor a_ = at::randn({4, kClassifiedWidth}), b_ = at::randn({4, kClassifiedWidth});
  const at::Tensor both_ = at::cat({a_, b_}, 1), four_ = at::cat({a_, b_, a_*b_, a_ - b_}, 1);
};

TEST_F(HeadTest, OfOneText) {
  const auto config = [](auto head, auto activation) {
    return Config(head, ModelConfig::INTERACTION, activation);
  };
  Expect(config(ModelConfig::TWO_LAYERS, ModelConfig::RELU), false, {"head.hidden", "head.logits"},
         a_, Relu);
  Expect(config(ModelConfig::TWO_LAYERS, ModelConfig::GELU), false, {"head.hidden", "head.logits"},
         a_, Gelu);
  Expect(config(ModelConfig::LINEAR, ModelConfig::RELU), false, {"head.logits"}, a_, Relu);
}

TEST_F(HeadTest, OfPairs) {
  const auto config = [](auto head, auto pair_head) {
    return Config(head, pair_head, ModelConfig::GELU);
  };
  Expect(config(ModelConfig::TWO_LAYERS, ModelConfig::CONCATENATION), true,
         {"head.hidden", "head.hidden2", "head.logits"}, both_, Gelu);
  Expect(config(ModelConfig::TWO_LAYERS, ModelConfig::INTERACTION), true,
         {"head.hidden", "head.logits"}, four_, Gelu);
  Expect(config(ModelConfig::LINEAR, ModelConfig::CONCATENATION), true, {"head.logits"}, both_,
         Gelu);
  Expect(config(ModelConfig::LINEAR, ModelConfig::INTERACTION), true, {"head.logits"}, four_, Gelu);
}

TEST_F(HeadTest, TheSecondHiddenLayerHasHalfTheWidth) {
  ParameterStore store(2);
  const Head head(Config(ModelConfig::TWO_LAYERS, ModelConfig::CONCATENATION, ModelConfig::RELU),
                  true, kClasses, &store);
  EXPECT_EQ(Find(store, "head.hidden.weight").sizes(), at::IntArrayRef({7, 2 * kClassifiedWidth}));
  EXPECT_EQ(Find(store, "head.hidden2.weight").sizes(), at::IntArrayRef({3, 7}));
}

}  // namespace
}  // namespace lra
