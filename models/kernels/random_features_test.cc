#include "models/kernels/random_features.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/diag.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>
#include <vector>

#include "models/base/kernel_path.h"
#include "models/base/parameters.h"
#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/fused_random_features.h"

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

// Rows of the causal form from logarithms of features: softmax_j over j <= i of log sum_r
// exp(query_ir + key_jr), times v.
at::Tensor CausalRows(const at::Tensor& log_query, const at::Tensor& log_key,
                      const at::Tensor& keep, const at::Tensor& v) {
  const int64_t n = v.size(2);
  const at::Tensor hidden =
      at::ones({n, n}, at::kBool).triu(1).logical_or(keep.logical_not().view({-1, 1, 1, n}));
  const at::Tensor logs = (log_query.unsqueeze(3) + log_key.unsqueeze(2)).logsumexp(-1);
  return at::matmul(logs.masked_fill(hidden, -1e30).softmax(-1).masked_fill(hidden, 0), v);
}

at::Tensor AttendToPiece(const at::Tensor& log_query, const at::Tensor& log_key,
                         const at::Tensor& keep, const at::Tensor& v, at::Tensor* running_max,
                         at::Tensor* state, std::vector<int64_t>* starts) {
  const StableFeatures features = CausalStableFeatures(log_query, log_key, keep, *running_max);
  LinearAttentionSpec spec;
  spec.feature_map = FeatureMap::kIdentity;
  spec.epsilon = 0;
  spec.causal = true;
  spec.state_scale = features.state_scale;
  spec.chunk_starts = *starts = features.chunk_starts;
  *running_max = features.running_max;
  return ExtendLinearAttention(features.query, features.key, v, keep, spec, state);
}

// Keys of hundreds of magnitudes: 0 to 4 nothing beside 5, which is nothing beside 60; 299 is more
// than all before it. Example 1 begins with masked tokens.
TEST(CausalStableFeaturesTest, NoKeyMakesARowVanishThatDoesNotSeeIt) {
  const at::Tensor log_query = at::randn({2, 2, 300, 7}), v = at::randn({2, 2, 300, 3});
  at::Tensor log_key = at::randn({2, 2, 300, 7});
  log_key.slice(2, 0, 5).sub_(400);
  log_key.slice(2, 5, 60).sub_(200);
  log_key.slice(2, 299).add_(150);
  at::Tensor keep = at::ones({2, 300}, at::kBool);
  keep[1].slice(0, 0, 3).fill_(false);
  keep[0][70] = false;
  const at::Tensor exact =
      CausalRows(log_query.to(at::kDouble), log_key.to(at::kDouble), keep, v.to(at::kDouble));
  for (const int64_t piece : {300, 100, 1}) {
    at::Tensor running_max, state;
    std::vector<at::Tensor> rows;
    std::vector<int64_t> starts;
    for (int64_t first = 0; first < 300; first += piece) {
      const auto cut = [&](const at::Tensor& t) { return t.narrow(2, first, piece); };
      rows.push_back(AttendToPiece(cut(log_query), cut(log_key), keep.narrow(1, first, piece),
                                   cut(v), &running_max, &state, &starts));
      if (piece == 300) {
        EXPECT_EQ(starts, (std::vector<int64_t>{0, 5, 60, 128, 256, 299}));
      }
    }
    // Logarithms of 400 are rounded to 3e-5.
    EXPECT_LT((at::cat(rows, 2) - exact).abs().max().item<double>(), 1e-3) << piece;
  }
}

// Chunks are as they are for speed where nothing can vanish.
TEST(CausalStableFeaturesTest, UsualKeysAreCutEvenly) {
  at::Tensor keep = at::ones({2, 300}, at::kBool);
  keep[1].slice(0, 140).fill_(false);
  const StableFeatures features = CausalStableFeatures(
      at::randn({2, 2, 300, 7}), 5 * at::randn({2, 2, 300, 7}), keep, at::Tensor());
  EXPECT_TRUE(features.chunk_starts.empty());
  EXPECT_EQ(features.state_scale.size(2), 3);
}

// Tokens from 301 on of the second example are masked.
class FusedFeaturesTest : public testing::Test {
 protected:
  static constexpr int64_t kTokens = 523;  // three tiles, the last one odd

  FusedFeaturesTest() : keep_(at::ones({2, kTokens}, at::kBool)) {
    keep_[1].slice(0, 301).fill_(false);
  }

  // Laid out like the encoder's.
  static at::Tensor Heads(int64_t width) {
    return at::randn({2, kTokens, 3, width}).transpose(1, 2);
  }
  static at::Tensor Leaf(const at::Tensor& t) { return t.detach().clone().set_requires_grad(true); }
  at::Tensor Kept(const at::Tensor& t) const {
    return t.masked_fill(keep_.logical_not().view({2, 1, -1, 1}), 0);
  }
  at::Tensor WithNansWhereMasked(const at::Tensor& t) const {
    return t.masked_fill(keep_.logical_not().view({2, 1, -1, 1}),
                         std::numeric_limits<double>::quiet_NaN());
  }
  static void ExpectClose(const at::Tensor& found, const at::Tensor& exact, const char* what,
                          double tolerance = 1e-5) {
    const double difference = (found.to(at::kDouble) - exact).abs().max().item<double>();
    EXPECT_LT(difference, tolerance * exact.abs().max().item<double>()) << what;
  }

  void ExpectStable(const at::Tensor& k, double tolerance = 1e-5) const;

  at::Tensor keep_;
};

void FusedFeaturesTest::ExpectStable(const at::Tensor& k, double tolerance) const {
  const at::Tensor q = Heads(20), projection = Gaussian(37, 20);
  const at::Tensor key_gradient = at::randn({2, 3, kTokens, 37}), query_gradient = Heads(37);
  const at::Tensor exact_q = Leaf(q.to(at::kDouble)), exact_k = Leaf(k.to(at::kDouble));
  const StableFeatures exact =
      MakeStableFeatures(LogPositiveFeatures(exact_q * 0.5, projection, false),
                         LogPositiveFeatures(exact_k * 0.5, projection, false), keep_);
  const auto expected =
      torch::autograd::grad({exact.query, exact.key}, {exact_q, exact_k},
                            {query_gradient.to(at::kDouble), key_gradient.to(at::kDouble)});
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    const at::Tensor our_q = Leaf(q), our_k = Leaf(WithNansWhereMasked(k));
    const StableFeatures ours = FusedStableFeatures(our_q, our_k, keep_, projection, 0.5);
    ExpectClose(ours.query, exact.query, KernelPathName(path), tolerance);
    ExpectClose(ours.key, exact.key, KernelPathName(path), tolerance);
    const auto found = torch::autograd::grad({ours.query, ours.key}, {our_q, our_k},
                                             {query_gradient, key_gradient});
    ExpectClose(found[0], expected[0], "gradient of q", tolerance);
    ExpectClose(found[1], expected[1], "gradient of k", tolerance);
  }
}

TEST_F(FusedFeaturesTest, StableFeaturesAreThoseOfTheDefinition) { ExpectStable(Heads(20)); }

// So large that every logarithm lies below the 0 of a masked one, which must not count; logarithms
// of 50 are rounded to 4e-6.
TEST_F(FusedFeaturesTest, StableFeaturesOfLargeKeys) { ExpectStable(4 * Heads(20), 4e-5); }

TEST_F(FusedFeaturesTest, SinesAndCosinesAreThoseOfTheDefinition) {
  const at::Tensor projection = Gaussian(19, 20), gradient = at::randn({2, 3, kTokens, 38});
  at::Tensor x = Heads(20);
  x[0][1][5].fill_(0);
  const at::Tensor heads = at::tensor(std::vector<double>{0.5, 1, 2}).view({3, 1});
  const at::Tensor sigma = (heads * at::linspace(0.5, 1.5, 20)).to(at::kFloat);
  const at::Tensor exact_x = Leaf(x.to(at::kDouble)), exact_sigma = Leaf(sigma.to(at::kDouble));
  const at::Tensor kept = Kept(exact_x), square = kept.square().sum(-1, true);
  const at::Tensor unit = kept * square.masked_fill(square == 0, 1).rsqrt();
  const at::Tensor angles =
      at::matmul(unit * exact_sigma.view({1, 3, 1, 20}), projection.to(at::kDouble).t());
  const at::Tensor exact = at::cat({angles.sin(), angles.cos()}, -1) / std::sqrt(19.0);
  const auto expected =
      torch::autograd::grad({exact}, {exact_x, exact_sigma}, {gradient.to(at::kDouble)});
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    const at::Tensor our_x = Leaf(WithNansWhereMasked(x)), our_sigma = Leaf(sigma);
    const at::Tensor ours = FusedTrigonometricFeatures(our_x, keep_, projection, our_sigma);
    ExpectClose(ours, exact, KernelPathName(path));
    const auto found = torch::autograd::grad({ours}, {our_x, our_sigma}, {gradient});
    ExpectClose(found[0], expected[0], "gradient of x");
    ExpectClose(found[1], expected[1], "gradient of sigma");
  }
}

// Beyond kSinCosLimit: x^ = 1 exactly, so that the angles are those of w itself.
TEST_F(FusedFeaturesTest, LargeAnglesKeepTheirAccuracy) {
  const at::Tensor projection = at::tensor(std::vector<float>{3.0f, -8000.0f, 123456.0f, 1e7f});
  const at::Tensor features = FusedTrigonometricFeatures(at::ones({1, 1, 1, 1}), at::Tensor(),
                                                         projection.view({4, 1}), at::ones({1, 1}));
  const at::Tensor angles = projection.to(at::kDouble);
  const at::Tensor exact = at::cat({angles.sin(), angles.cos()}) / 2;
  EXPECT_LT((features.view({8}) - exact).abs().max().item<double>(), 2e-7);
}

TEST_F(FusedFeaturesTest, DoNotDependOnThreads) {
  const at::Tensor q = Heads(20), k = Heads(20), projection = Gaussian(37, 20),
                   sigma = at::ones({3, 20});
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    const at::Tensor our_q = Leaf(q), our_k = Leaf(k), our_sigma = Leaf(sigma);
    const StableFeatures stable = FusedStableFeatures(our_q, our_k, keep_, projection, 0.5);
    const at::Tensor waves = FusedTrigonometricFeatures(our_q, keep_, projection, our_sigma);
    auto all = torch::autograd::grad({stable.query.sum() + stable.key.sum() + waves.sum()},
                                     {our_q, our_k, our_sigma});
    all.insert(all.end(), {stable.query, stable.key, waves});
    return all;
  };
  const int before = at::get_num_threads();
  const auto one = run(1), two = run(2);
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], two[i])) << i;
}

}  // namespace
}  // namespace lra
