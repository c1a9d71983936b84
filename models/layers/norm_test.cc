#include "models/layers/norm.h"

#include <ATen/Context.h>
#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

constexpr int64_t kNormWidth = 6;

ModelConfig Config(ModelConfig::Norm kind) {
  ModelConfig config;
  config.set_width(kNormWidth);
  config.set_norm(kind);
  config.set_norm_epsilon(1e-3f);
  return config;
}

void ExpectClose(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_TRUE(at::allclose(a, b, 1e-4, 1e-5)) << a << "\n" << b;
}

class BatchNormTest : public testing::Test {
 protected:
  BatchNormTest() : norm_(Config(ModelConfig::BATCH), "n", &store_) {
    at::manual_seed(1);
    x_ = at::randn({3, 5, kNormWidth}) * 2 + 1;
    real_ = at::tensor({1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0}).view({3, 5}).to(at::kBool);
    weight().detach().copy_(at::rand({kNormWidth}) + 0.5);
    bias().detach().copy_(at::randn({kNormWidth}));
    mean().copy_(at::randn({kNormWidth}));
    variance().copy_(at::rand({kNormWidth}) + 0.5);
  }

  at::Tensor weight() const { return store_.parameters()[0].value; }
  at::Tensor bias() const { return store_.parameters()[1].value; }
  at::Tensor mean() const { return store_.buffers()[0].value; }
  at::Tensor variance() const { return store_.buffers()[1].value; }
  // LibTorch's own norm over the given rows [T, E]; it updates its own copies of the running
  // statistics.
  at::Tensor Library(const at::Tensor& rows, bool training, at::Tensor* new_mean,
                     at::Tensor* new_variance) const {
    *new_mean = mean().clone();
    *new_variance = variance().clone();
    return at::batch_norm(rows, weight(), bias(), *new_mean, *new_variance, training, 0.1,
                          norm_.map().epsilon, false);
  }

  ParameterStore store_{3};
  const Norm norm_;
  at::Tensor x_, real_;
};

TEST_F(BatchNormTest, IsTheLibrarysOverTheRealTokens) {
  at::Tensor new_mean, new_variance;
  at::Tensor packed = x_.index({real_}).set_requires_grad(true);  // [8, E]
  const at::Tensor expected = Library(packed, true, &new_mean, &new_variance);
  (expected * expected).sin().sum().backward();
  const at::Tensor weight_gradient = weight().grad().clone();
  weight().mutable_grad() = at::Tensor();
  at::Tensor x = x_.clone().set_requires_grad(true);
  const at::Tensor y = norm_.Forward(x, real_, BatchStatistics::kOfBatchAndLearn).index({real_});
  ExpectClose(y, expected);
  ExpectClose(mean(), new_mean);
  ExpectClose(variance(), new_variance);
  (y * y).sin().sum().backward();
  ExpectClose(x.grad().index({real_}), packed.grad());
  ExpectClose(weight().grad(), weight_gradient);
  EXPECT_EQ(x.grad().index({real_.logical_not()}).abs().max().item<float>(), 0);
}

TEST_F(BatchNormTest, WithoutPaddingAllTokensCount) {
  at::Tensor new_mean, new_variance;
  const at::Tensor expected =
      Library(x_.view({15, kNormWidth}), true, &new_mean, &new_variance).view_as(x_);
  ExpectClose(norm_.Forward(x_, at::Tensor(), BatchStatistics::kOfBatchAndLearn), expected);
  ExpectClose(mean(), new_mean);
  ExpectClose(variance(), new_variance);
}

// What padding holds changes its own result only.
TEST_F(BatchNormTest, PadsHaveNoSayButAreMappedAlike) {
  at::Tensor other = x_.clone();
  other[1][4] = x_[0][0] + 7;
  const auto forward = [&](const at::Tensor& x) {
    return norm_.Forward(x, real_, BatchStatistics::kOfBatch);
  };
  const at::Tensor y = forward(x_), z = forward(other);
  EXPECT_TRUE(at::equal(y.index({real_}), z.index({real_})));
  const at::Tensor slope = (y[0][0] - y[0][1]) / (x_[0][0] - x_[0][1]);
  ExpectClose(z[1][4], y[0][0] + 7 * slope);
}

TEST_F(BatchNormTest, EvaluationUsesAndKeepsTheRunningStatistics) {
  const at::Tensor old_mean = mean().clone(), old_variance = variance().clone();
  at::Tensor new_mean, new_variance;
  const at::Tensor expected = Library(x_.view({15, kNormWidth}), false, &new_mean, &new_variance);
  ExpectClose(norm_.Forward(x_, real_, BatchStatistics::kRunning).view({15, kNormWidth}), expected);
  const at::Tensor trial = norm_.Forward(x_, real_, BatchStatistics::kOfBatch);
  EXPECT_TRUE(at::equal(mean(), old_mean) && at::equal(variance(), old_variance));
  EXPECT_TRUE(at::equal(trial, norm_.Forward(x_, real_, BatchStatistics::kOfBatchAndLearn)));
  EXPECT_FALSE(at::equal(mean(), old_mean) || at::equal(variance(), old_variance));
}

TEST_F(BatchNormTest, OneRealTokenHasNoVariance) {
  const at::Tensor old_mean = mean().clone();
  for (const int64_t tokens : {0, 1}) {
    at::Tensor real = at::zeros({3, 5}, at::kBool);
    real.view({15}).narrow(0, 2, tokens).fill_(true);
    EXPECT_TRUE(at::equal(norm_.Forward(x_, real, BatchStatistics::kOfBatchAndLearn),
                          norm_.Forward(x_, real, BatchStatistics::kRunning)));
  }
  EXPECT_TRUE(at::equal(mean(), old_mean));
}

TEST(NormTest, LayerNormHasNoStatistics) {
  ParameterStore store(3);
  const Norm norm(Config(ModelConfig::LAYER), "n", &store);
  EXPECT_TRUE(store.buffers().empty());
  const at::Tensor x = at::randn({2, 3, kNormWidth}), centred = x - x.mean(-1, true);
  const at::Tensor expected = centred / (centred.square().mean(-1, true) + 1e-3).sqrt();
  ExpectClose(norm.Forward(x, at::Tensor(), BatchStatistics::kOfBatchAndLearn), expected);
}

}  // namespace
}  // namespace lra
