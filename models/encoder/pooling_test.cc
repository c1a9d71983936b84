#include "models/encoder/pooling.h"

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lra {
namespace {

// After post-norm layers nothing is normalised, so the values can be computed by hand.
at::Tensor Pool(ModelConfig::Pooling kind, const at::Tensor& x, const at::Tensor& real,
                ModelConfig::NormPlacement placement = ModelConfig::AFTER,
                ModelConfig::Norm norm = ModelConfig::LAYER) {
  ModelConfig config;
  config.set_width(static_cast<int32_t>(x.size(2)));
  config.set_pooling(kind);
  config.set_norm(norm);
  config.set_norm_placement(placement);
  config.set_norm_epsilon(1e-5f);
  ParameterStore store(1);
  const Pooling pooling(config, &store);
  EXPECT_EQ(store.parameters().size(), placement == ModelConfig::AFTER ? 0u : 2u);
  return pooling.Forward(x, real, BatchStatistics::kOfBatch);
}

// Three examples of three tokens: the first tokens are real, or the outer ones, or none.
at::Tensor Tokens() {
  return at::tensor({1.f, 10.f, 3.f, 20.f, 5.f, 60.f,  //
                     2.f, 30.f, 7.f, 70.f, 6.f, 90.f,  //
                     4.f, 20.f, 4.f, 50.f, 1.f, 80.f})
      .view({3, 3, 2});
}
at::Tensor Real() { return at::tensor({1, 1, 0, 1, 0, 1, 0, 0, 0}).view({3, 3}).to(at::kBool); }

void ExpectRows(const at::Tensor& pooled, const std::vector<float>& expected) {
  EXPECT_TRUE(at::allclose(pooled.flatten(), at::tensor(expected))) << pooled;
}

TEST(PoolingTest, ByHand) {
  ExpectRows(Pool(ModelConfig::MEAN, Tokens(), Real()), {2, 15, 4, 60, 0, 0});
  ExpectRows(Pool(ModelConfig::MEAN_OF_ALL, Tokens(), Real()), {3, 30, 5, 190.f / 3, 3, 50});
  ExpectRows(Pool(ModelConfig::SUM_OVER_N, Tokens(), Real()), {4.f / 3, 10, 8.f / 3, 40, 0, 0});
  ExpectRows(Pool(ModelConfig::LAST_TOKEN, Tokens(), Real()), {3, 20, 6, 90, 1, 80});
  ExpectRows(Pool(ModelConfig::FIRST, Tokens(), Real()), {1, 10, 2, 30, 4, 20});
  ExpectRows(Pool(ModelConfig::CLS, Tokens(), Real()), {1, 10, 2, 30, 4, 20});
  ExpectRows(Pool(ModelConfig::MAX, Tokens(), Real()), {3, 20, 6, 90, 0, 0});
  ExpectRows(Pool(ModelConfig::MAX, Tokens(), at::Tensor()), {5, 60, 7, 90, 4, 80});
}

// softmax(q . x / sqrt(E)) over real tokens, q a parameter that starts at 0.
TEST(PoolingTest, AQueryWeighsTokens) {
  ModelConfig config;
  config.set_width(2);
  config.set_pooling(ModelConfig::QUERY);
  config.set_norm_placement(ModelConfig::AFTER);
  ParameterStore store(1);
  const Pooling pooling(config, &store);
  const auto pool = [&] {
    return pooling.Forward(Tokens(), Real(), BatchStatistics::kRunning).detach();
  };
  ExpectRows(pool(), {2, 15, 4, 60, 0, 0});
  // The first example has tokens (1, 10) and (3, 20): the second's weight is e^2 of the first's.
  store.parameters().at(0).value.detach().copy_(at::tensor({std::sqrt(2.f), 0.f}));
  const float second = std::exp(2.f) / (1 + std::exp(2.f));
  EXPECT_NEAR(pool()[0][1].item<float>(), 10 + 10 * second, 1e-4);
  EXPECT_NEAR(pool()[2].abs().max().item<float>(), 0, 0);
}

TEST(PoolingTest, WithoutPadding) {
  const std::vector<float> mean = {3, 30, 5, 190.f / 3, 3, 50};
  for (const auto kind : {ModelConfig::MEAN, ModelConfig::MEAN_OF_ALL, ModelConfig::SUM_OVER_N}) {
    ExpectRows(Pool(kind, Tokens(), at::Tensor()), mean);
  }
  ExpectRows(Pool(ModelConfig::LAST_TOKEN, Tokens(), at::Tensor()), {5, 60, 6, 90, 1, 80});
}

// The norm comes first, and the statistics of a batch norm are those of all real tokens, although
// only one is read.
TEST(PoolingTest, NormalisesBeforeItPools) {
  const at::Tensor x = at::randn({3, 3, 4}), real = Real();
  const at::Tensor layer = at::layer_norm(x, {4}, {}, {}, 1e-5);
  const auto pool = [&](ModelConfig::Pooling kind, ModelConfig::Norm norm) {
    return Pool(kind, x, real, ModelConfig::BEFORE, norm);
  };
  EXPECT_TRUE(at::allclose(pool(ModelConfig::LAST_TOKEN, ModelConfig::LAYER)[1], layer[1][2]));
  EXPECT_TRUE(at::allclose(pool(ModelConfig::MEAN_OF_ALL, ModelConfig::LAYER), layer.mean(1)));
  const at::Tensor packed = x.index({real});  // the second example's last real token is row 3
  const at::Tensor batch = (packed - packed.mean(0)) / (packed.var(0, false) + 1e-5).sqrt();
  EXPECT_TRUE(
      at::allclose(pool(ModelConfig::LAST_TOKEN, ModelConfig::BATCH)[1], batch[3], 1e-4, 1e-5));
}

}  // namespace
}  // namespace lra
