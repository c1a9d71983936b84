#include "models/kernels/random_features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/parameters.h"

namespace lra {
namespace {

at::Tensor Gaussian(int64_t rows, int64_t width) {
  ParameterStore store(5);
  return store.CreateBuffer("w", {rows, width}, Initializer::Normal(1));
}

TEST(OrthogonaliseRowsTest, BlocksAreOrthogonalAndLengthsStay) {
  const at::Tensor drawn = Gaussian(20, 8), matrix = drawn.clone();
  OrthogonaliseRows(matrix);
  for (const int64_t first : {0, 8, 16}) {
    const int64_t rows = std::min<int64_t>(8, 20 - first);
    const at::Tensor block = matrix.narrow(0, first, rows).to(at::kDouble);
    const at::Tensor gram = at::matmul(block, block.t());
    const at::Tensor squares = drawn.narrow(0, first, rows).to(at::kDouble).square().sum(1);
    EXPECT_LT((gram - at::diag(squares)).abs().max().item<double>(), 1e-5) << first;
  }
  EXPECT_TRUE(matrix[0].allclose(drawn[0]));  // the first row of a block keeps its direction
  EXPECT_TRUE(matrix[8].allclose(drawn[8]));
}

struct Estimate {
  double mean, standard_error, variance;  // of one block's estimate
};

// exp(x . y) estimated by 2000 blocks of as many features as x is wide.
Estimate EstimateKernel(const at::Tensor& x, const at::Tensor& y, const at::Tensor& projection,
                        bool is_hyperbolic) {
  constexpr int64_t kBlocks = 2000;
  const at::Tensor product = (LogPositiveFeatures(x, projection, is_hyperbolic) +
                              LogPositiveFeatures(y, projection, is_hyperbolic))
                                 .exp();
  const int64_t signs = is_hyperbolic ? 2 : 1;
  const at::Tensor blocks = product.view({signs, kBlocks, -1}).mean(at::IntArrayRef({0, 2}));
  const double variance = blocks.var().item<double>();
  return {blocks.mean().item<double>(), std::sqrt(variance / kBlocks), variance};
}

class KernelEstimateTest : public testing::Test {
 protected:
  const at::Tensor x_ = at::tensor(std::vector<double>{0.5, -0.3, 0.2, 0.4}),
                   y_ = at::tensor(std::vector<double>{0.1, 0.6, -0.2, 0.3});
  const double exact_ = std::exp(at::dot(x_, y_).item<double>());
  const double sum_square_ = (x_ + y_).square().sum().item<double>();
  const at::Tensor independent_ = Gaussian(8000, 4);
};

TEST_F(KernelEstimateTest, IsUnbiased) {
  const at::Tensor orthogonal = independent_.clone();
  OrthogonaliseRows(orthogonal);
  for (const at::Tensor& projection : {independent_, orthogonal}) {
    for (const bool is_hyperbolic : {false, true}) {
      const Estimate estimate = EstimateKernel(x_, y_, projection, is_hyperbolic);
      EXPECT_NEAR(estimate.mean, exact_, 4 * estimate.standard_error);
    }
  }
}

// Choromanski et al. 2021, Lemma 2: with M features the variance is
// exp(2 x . y) (exp(|x + y|^2) - 1) / M, and times (1 - exp(-|x + y|^2)) / 2 where w goes with -w
// (there 2M features).
TEST_F(KernelEstimateTest, HasTheVarianceOfTheLemma) {
  const double positive = exact_ * exact_ * (std::exp(sum_square_) - 1) / 4;
  const double hyperbolic = positive * (1 - std::exp(-sum_square_)) / 2;
  EXPECT_NEAR(EstimateKernel(x_, y_, independent_, false).variance, positive, 0.25 * positive);
  EXPECT_NEAR(EstimateKernel(x_, y_, independent_, true).variance, hyperbolic, 0.25 * hyperbolic);
  const at::Tensor orthogonal = independent_.clone();
  OrthogonaliseRows(orthogonal);
  EXPECT_LT(EstimateKernel(x_, y_, orthogonal, false).variance, positive);
}

TEST(StableFeaturesTest, RatiosAreThoseOfTheDefinitionAndRowSumsAtLeastOne) {
  const at::Tensor log_query = at::randn({2, 1, 5, 3}, at::kDouble) * 300,
                   log_key = at::randn({2, 1, 7, 3}, at::kDouble) * 300;
  at::Tensor keep = at::ones({2, 7}, at::kBool);
  keep[0][6] = false;
  log_key[0].select(1, 6).fill_(1e4);
  const StableFeatures features = MakeStableFeatures(log_query, log_key, keep);
  const at::Tensor weights = at::matmul(features.query, features.key.transpose(-1, -2));
  EXPECT_GE(weights.sum(-1).min().item<double>(), 1);
  EXPECT_EQ(features.key[0].select(1, 6).abs().max().item<double>(), 0);
  // log sum_r exp(query_r + key_r), normalised over the kept keys.
  at::Tensor exact = (log_query.unsqueeze(3) + log_key.unsqueeze(2)).logsumexp(-1);
  exact = exact.masked_fill(keep.logical_not().view({2, 1, 1, 7}), -1e30).softmax(-1);
  const at::Tensor normalised = weights / weights.sum(-1, true);
  EXPECT_LT((normalised - exact).abs().max().item<double>(), 1e-10);
}

TEST(StableFeaturesTest, WithoutKeysAllFeaturesOfKeysAreZero) {
  const at::Tensor log_query = at::randn({1, 1, 2, 3}), log_key = at::randn({1, 1, 4, 3});
  const StableFeatures features =
      MakeStableFeatures(log_query, log_key, at::zeros({1, 4}, at::kBool));
  EXPECT_EQ(features.key.abs().max().item<double>(), 0);
  EXPECT_TRUE(features.query.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace lra
