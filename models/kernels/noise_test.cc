#include "models/kernels/noise.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lra/random.h"
#include "models/base/fake_device.h"

namespace lra {
namespace {

DropoutKey Key(std::vector<int64_t> ids, uint32_t step = 3) {
  return {0, 1, step, 5, at::tensor(ids, at::kLong)};
}

TEST(GumbelNoiseTest, IsTheDocumentedFunction) {
  const at::Tensor noise = GumbelNoise(Key({7, (int64_t{1} << 32) + 9}), 2, 3, 6);
  ASSERT_EQ(noise.sizes().vec(), (std::vector<int64_t>{2, 2, 3, 6}));
  const uint32_t word = Philox({1u << 18 | 1, 2, 9, 3}, {1, 5 << 8 | 8})[1];
  const double u = (word + 0.5) / 4294967296.0;
  EXPECT_DOUBLE_EQ(noise[1][1][2][5].item<double>(), -std::log(-std::log(u)));
}

TEST(GumbelNoiseTest, ADeviceDrawsTheSame) {
  const DropoutKey key = Key({7, (int64_t{1} << 32) + 9});
  EXPECT_TRUE(at::allclose(GumbelNoise(key, 2, 3, 6, FakeDevice()).cpu(), GumbelNoise(key, 2, 3, 6),
                           1e-15, 1e-14));
}

TEST(NormalNoiseTest, ADeviceDrawsTheSame) {
  const at::Tensor host = NormalNoise(Key({7}), {3, 50}, at::kCPU);
  EXPECT_TRUE(at::allclose(NormalNoise(Key({8}), {3, 50}, FakeDevice()).cpu(), host, 1e-6, 1e-7));
  RandomStream random(1, RandomDomain::kAttentionNoise.AtSite(5), {0, 0, 3});
  for (int64_t i = 0; i < host.numel(); ++i)
    EXPECT_EQ(host.view({-1})[i].item<float>(), static_cast<float>(random.Normal()));
}

TEST(GumbelNoiseTest, DependsOnTheExampleNotOnBatchOrSize) {
  const at::Tensor batch = GumbelNoise(Key({4, 8}), 2, 5, 5),
                   alone = GumbelNoise(Key({8}), 2, 3, 4);
  EXPECT_TRUE(batch[1].slice(1, 0, 3).slice(2, 0, 4).equal(alone[0]));
  EXPECT_FALSE(GumbelNoise(Key({8}, 4), 2, 3, 4).equal(alone));
}

// The mean is Euler's constant and the variance pi^2 / 6; the limits are four standard errors of
// 40000 draws.
TEST(GumbelNoiseTest, HasTheDistribution) {
  const at::Tensor noise = GumbelNoise(Key({1}), 1, 200, 200);
  EXPECT_NEAR(noise.mean().item<double>(), 0.5772156649, 4 * 1.2825 / 200);
  EXPECT_NEAR(noise.var().item<double>(), 1.6449340668, 4 * 1.6449 * std::sqrt(4.4 / 40000));
}

}  // namespace
}  // namespace lra
