#include "models/layers/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lra {
namespace {

constexpr int64_t kTokens = 40, kHeadWidth = 6;

at::Tensor Turn(const RotaryPositions& rotary, const at::Tensor& x, int64_t first) {
  return TurnByPositions(x, rotary.Turns(x, first));
}

at::Tensor Random(at::ScalarType type = at::kDouble) {
  at::manual_seed(3);
  // Laid out as projections leave them: [B, N, H, D].
  return at::randn({2, kTokens, 3, kHeadWidth}, type).transpose(1, 2);
}

TEST(RotaryPositionsTest, TurnsPairsOfChannels) {
  const at::Tensor x = Random();
  const at::Tensor turned = Turn(RotaryPositions(kTokens, kHeadWidth), x, 0);
  for (const int64_t p : {0, 1, 7, 39}) {
    for (int64_t c = 0; c < kHeadWidth; c += 2) {
      const double angle = static_cast<double>(p) * std::pow(10000, -static_cast<double>(c) / 6);
      const double a = x[1][2][p][c].item<double>(), b = x[1][2][p][c + 1].item<double>();
      EXPECT_NEAR(turned[1][2][p][c].item<double>(), a * std::cos(angle) - b * std::sin(angle),
                  1e-12);
      EXPECT_NEAR(turned[1][2][p][c + 1].item<double>(), b * std::cos(angle) + a * std::sin(angle),
                  1e-12);
    }
  }
}

TEST(RotaryPositionsTest, IsItsDefinitionWithItsGradient) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const double tolerance = type == at::kDouble ? 1e-12 : 1e-5;
    const at::Tensor a = Random(type).detach().requires_grad_(),
                     b = Random(type).detach().requires_grad_();
    const at::Tensor fast = Turn(RotaryPositions(100, kHeadWidth), a, 17),
                     slow = RotaryDefinition(b, 17);
    EXPECT_EQ(fast.scalar_type(), type);
    EXPECT_TRUE(fast.transpose(1, 2).is_contiguous());  // laid out as x was
    EXPECT_TRUE(at::allclose(fast, slow, tolerance, tolerance));
    fast.pow(3).sum().backward();
    slow.pow(3).sum().backward();
    EXPECT_TRUE(at::allclose(a.grad(), b.grad(), tolerance, 10 * tolerance));
  }
}

// Scores of two tokens are the same wherever both are moved.
// What is turned, or its gradient, may be a part of a wider tensor, in which channels are no pairs.
TEST(RotaryPositionsTest, TakesAnyOrderInMemory) {
  const at::Tensor x = at::randn({2, 3, 5, kHeadWidth}), upstream = at::randn_like(x);
  const RotaryPositions rotary(kTokens, kHeadWidth);
  const auto gradient = [&](bool is_part) {
    const at::Tensor a = x.clone().requires_grad_();
    const at::Tensor turned = Turn(rotary, a, 0);
    if (!is_part) {
      turned.backward(upstream);
    } else {
      const at::Tensor one = at::ones({2, 3, 5, 1});
      at::cat({one, turned}, 3).backward(at::cat({one, upstream}, 3));
    }
    return a.grad();
  };
  EXPECT_TRUE(gradient(true).equal(gradient(false)));
  const at::Tensor part = at::cat({at::ones({2, 3, 5, 1}), x}, 3).narrow(3, 1, kHeadWidth);
  EXPECT_TRUE(Turn(rotary, part, 0).equal(Turn(rotary, x, 0)));
}

TEST(RotaryPositionsTest, TurnsInFloat32WhatIsOfBfloat16) {
  const at::Tensor x = at::randn({1, 2, 4, kHeadWidth}).to(at::kBFloat16).requires_grad_();
  const RotaryPositions rotary(kTokens, kHeadWidth);
  const at::Tensor turned = TurnByPositions(x, rotary.Turns(x, 0));
  EXPECT_TRUE(turned.equal(Turn(rotary, x.detach().to(at::kFloat), 0)));
  turned.sum().backward();
  EXPECT_EQ(x.grad().scalar_type(), at::kBFloat16);
}

TEST(RotaryPositionsTest, OnlyDistancesCount) {
  const at::Tensor q = Random(), k = Random().flip(2);
  const RotaryPositions rotary(1000, kHeadWidth);
  const auto scores = [&](int64_t first_query, int64_t first_key) {
    return at::matmul(Turn(rotary, q, first_query), Turn(rotary, k, first_key).transpose(2, 3));
  };
  EXPECT_TRUE(at::allclose(scores(0, 0), scores(960, 960), 1e-9, 1e-10));
  EXPECT_TRUE(at::allclose(scores(50, 0), scores(550, 500), 1e-9, 1e-10));
  EXPECT_FALSE(at::allclose(scores(0, 0), scores(1, 0), 1e-2, 1e-2));
}

TEST(RotaryPositionsTest, LongerSequencesAreRefused) {
  const RotaryPositions rotary(kTokens, kHeadWidth);
  EXPECT_ANY_THROW(Turn(rotary, Random(), 1));
}

}  // namespace
}  // namespace lra
