// Golden values from float64 arithmetic with 40 digits; the sum of all probabilities; gradients.
#include "models/encoder/logistic_mixture.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <utility>
#include <vector>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

// [1, 3 K] from logits, means and log scales.
at::Tensor Outputs(const std::vector<double>& numbers) {
  return at::tensor(numbers, at::kDouble).unsqueeze(0);
}

void ExpectNats(const at::Tensor& outputs, const std::vector<std::pair<int, double>>& golden) {
  const at::Tensor nats = -LogisticMixture(outputs)[0];
  for (const auto& [value, expected] : golden)
    EXPECT_NEAR(nats[value].item<double>(), expected, 1e-6) << value;
}

TEST(LogisticMixtureTest, OneComponent) {
  ExpectNats(Outputs({0, 0, 0}),
             {{0, 1.310396}, {255, 1.310396}, {1, 6.471028}, {127, 6.234416}, {128, 6.234416}});
  ExpectNats(Outputs({0, 0, -7}),
             {{127, 0.693515}, {128, 0.693515}, {129, 8.601412}, {0, 1092.332636}});
  ExpectNats(Outputs({0, 0.5, std::log(0.1)}),
             {{0, 14.960785}, {191, 3.932050}, {255, 4.967767}, {64, 12.525760}});
}

TEST(LogisticMixtureTest, TwoComponents) {
  ExpectNats(Outputs({0, std::log(3), -1, 0.5, -7, std::log(0.1)}),
             {{0, 1.399764}, {64, 12.813442}, {128, 7.807718}, {255, 5.255449}});
}

TEST(LogisticMixtureTest, ScalesBelowTheLeastCountAsIt) {
  EXPECT_TRUE(LogisticMixture(Outputs({0, 0.2, -9})).equal(LogisticMixture(Outputs({0, 0.2, -7}))));
}

// Means over [-2, 2], log scales over [least, 3]; more rows than are taken at once.
at::Tensor ManyOutputs(at::ScalarType type, double least = -7) {
  constexpr int64_t kRows = 1100, kComponents = 3;
  const at::TensorOptions options = at::TensorOptions(type);
  return at::cat(
      {at::randn({kRows, kComponents}, options), at::rand({kRows, kComponents}, options) * 4 - 2,
       at::rand({kRows, kComponents}, options) * (3 - least) + least},
      1);
}

TEST(LogisticMixtureTest, ProbabilitiesSumToOne) {
  for (const auto& [type, bound] : {std::pair(at::kDouble, 1e-12), {at::kFloat, 2e-5}}) {
    const at::Tensor sums = LogisticMixture(ManyOutputs(type)).exp().sum(1);
    EXPECT_LT((sums - 1).abs().max().item<double>(), bound);
  }
}

TEST(LogisticMixtureTest, RowsAtATimeGiveWhatAllGive) {
  const at::Tensor outputs = ManyOutputs(at::kDouble).set_requires_grad(true);
  const at::Tensor upstream = at::randn({outputs.size(0), 256}, at::kDouble);
  const at::Tensor few = LogisticMixture(outputs), all = internal::LogisticMixtureAtOnce(outputs);
  EXPECT_TRUE(at::allclose(few, all, 1e-12, 1e-12));
  const at::Tensor of_few = torch::autograd::grad({few}, {outputs}, {upstream})[0];
  EXPECT_TRUE(
      at::allclose(of_few, torch::autograd::grad({all}, {outputs}, {upstream})[0], 1e-9, 1e-9));
}

// The float32 form of every kernel path within `bound` of the definition in float64, and its
// gradient within ten times that.
void ExpectTilesAreTheDefinition(double least_log_scale, double bound) {
  const at::Tensor outputs = ManyOutputs(at::kFloat, least_log_scale).set_requires_grad(true);
  const at::Tensor exact = outputs.detach().to(at::kDouble).set_requires_grad(true);
  // The gradient of a cross-entropy: of all values, and mostly of one.
  at::Tensor upstream = at::randn({outputs.size(0), 256}) * 0.01;
  upstream.select(1, 77).sub_(1);
  const at::Tensor expected = internal::LogisticMixtureAtOnce(exact);
  const at::Tensor slope =
      torch::autograd::grad({expected}, {exact}, {upstream.to(at::kDouble)})[0];
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    const at::Tensor tiled = LogisticMixture(outputs);
    const at::Tensor off = (tiled - expected).abs() / expected.abs().clamp_min(1);
    EXPECT_LT(off.max().item<double>(), bound);
    const at::Tensor of_tiled = torch::autograd::grad({tiled}, {outputs}, {upstream})[0];
    const at::Tensor wrong = (of_tiled - slope).abs() / slope.abs().clamp_min(1);
    EXPECT_LT(wrong.max().item<double>(), 10 * bound);
  }
}

TEST(LogisticMixtureTest, TheTilesAreTheDefinitionOnEveryPath) {
  ExpectTilesAreTheDefinition(-7, 1e-4);
}

// All values of a row are likely enough to be summed without logarithms.
TEST(LogisticMixtureTest, TheTilesOfWideLogisticsAreTheDefinition) {
  ExpectTilesAreTheDefinition(-2, 1e-5);
}

TEST(LogisticMixtureTest, WhatIsNoNumberStaysSo) {
  for (const int place : {0, 3, 5}) {  // a weight, a mean, a scale
    at::Tensor outputs = at::zeros({1, 6});
    outputs[0][place] = std::nan("");
    EXPECT_TRUE(LogisticMixture(outputs).isnan().any().item<bool>()) << place;
  }
}

TEST(LogisticMixtureTest, Gradients) {
  const at::Tensor outputs = Outputs({0, 0.5, std::log(0.1)}).set_requires_grad(true);
  LogisticMixture(outputs)[0][64].backward();
  EXPECT_NEAR(outputs.grad()[0][1].item<double>(), -9.999073, 1e-6);
  EXPECT_NEAR(outputs.grad()[0][2].item<double>(), 8.978955, 1e-6);
  // Central differences, at the open ends too.
  const std::vector<double> at = {0.3, -0.4, -0.6, 0.2, -1.5, -0.5};
  constexpr double kStep = 1e-6;
  for (const int value : {0, 64, 255}) {
    const at::Tensor x = Outputs(at).set_requires_grad(true);
    LogisticMixture(x)[0][value].backward();
    for (size_t i = 0; i < at.size(); ++i) {
      std::vector<double> up = at, down = at;
      up[i] += kStep, down[i] -= kStep;
      const double slope =
          (LogisticMixture(Outputs(up)) - LogisticMixture(Outputs(down)))[0][value].item<double>() /
          (2 * kStep);
      EXPECT_NEAR(x.grad()[0][static_cast<int64_t>(i)].item<double>(), slope, 1e-7) << value;
    }
  }
}

TEST(MixtureHeadTest, BeginsWithMeansOverAllValues) {
  ParameterStore store(1);
  const MixtureHead head(4, 10, &store);
  const at::Tensor p = head.Forward(at::randn({2, 4})).exp();  // weights are 0: x says nothing
  EXPECT_TRUE(p[0].equal(p[1]));
  EXPECT_LT(p.max().item<double>(), 0.1);
  EXPECT_GT(p.min().item<double>(), 0.0005);
  EXPECT_EQ(store.count(), 4 * 30 + 30);
}

}  // namespace
}  // namespace lra
