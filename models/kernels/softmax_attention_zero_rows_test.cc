// Tiles of queries without a gradient, which the backward of the register form leaves out.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"
#include "models/base/product_type.h"
#include "models/kernels/softmax_attention.h"
#include "models/kernels/unwritten_test_util.h"

namespace lra {
namespace {

using internal::SoftmaxGradients;
using internal::SoftmaxInput;

// Five tiles of 48 queries and three of 64 keys.
constexpr int64_t kBatch = 2, kHeads = 2, kQueries = 230, kKeys = 150;

at::Tensor RandomHeads(int64_t tokens, int64_t width) {
  return at::randn({kBatch, tokens, kHeads, width}).transpose(1, 2);
}

std::vector<std::pair<std::string, SoftmaxInput>> AllInputs() {
  SoftmaxInput plain;
  plain.q = RandomHeads(kQueries, 12);
  plain.k = RandomHeads(kKeys, 12);
  plain.v = RandomHeads(kKeys, 7);
  SoftmaxInput masked = plain;
  masked.keep = at::rand({kBatch, kKeys}) < 0.6;
  SoftmaxInput causal = masked;
  causal.causal = true;
  causal.weight_dropout = {0.2, 1, 2, 3, at::tensor({4, 9}, at::kLong)};
  SoftmaxInput biased = causal;
  biased.causal = false;
  biased.bias = at::randn({kHeads, kQueries, kKeys});
  biased.distance_slopes = at::rand({kHeads});
  return {{"plain", plain},
          {"masked", masked},
          {"causal, masked, dropout", causal},
          {"bias, distances, masked, dropout", biased}};
}

SoftmaxGradients Tiled(const SoftmaxInput& input, const at::Tensor& upstream) {
  const UnwrittenIsNaN unwritten;
  return internal::SoftmaxBackwardTiled(upstream, input, internal::SoftmaxForwardTiled(input));
}

SoftmaxGradients InFloat64(SoftmaxInput input, const at::Tensor& upstream) {
  for (at::Tensor* t : {&input.q, &input.k, &input.v, &input.bias, &input.distance_slopes})
    if (t->defined()) *t = t->to(at::kDouble);
  return internal::SoftmaxBackwardGeneric(upstream.to(at::kDouble), input,
                                          internal::SoftmaxForwardGeneric(input));
}

void ExpectEqual(const SoftmaxGradients& got, const SoftmaxGradients& expected) {
  EXPECT_TRUE(at::equal(got.q, expected.q));
  EXPECT_TRUE(at::equal(got.k, expected.k));
  EXPECT_TRUE(at::equal(got.v, expected.v));
  if (expected.bias.defined()) {
    EXPECT_TRUE(at::equal(got.bias, expected.bias));
  }
}

// Calls body() for each path, with products in float32 and, where there are any, in bfloat16.
template <class Body>
void ForPathsAndProducts(Body body) {
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    for (const bool is_bfloat16 : {false, true}) {
      if (is_bfloat16 && !HasBfloat16Products()) continue;
      SCOPED_TRACE(std::string(KernelPathName(path)) + (is_bfloat16 ? ", bfloat16" : ""));
      const ProductTypeScope products(is_bfloat16);
      body(is_bfloat16);
    }
  }
}

// Which queries get a gradient, [N, 1].
std::vector<std::pair<std::string, at::Tensor>> AskedQueries() {
  const at::Tensor place = at::arange(kQueries).view({-1, 1});
  return {{"the first", place.eq(0)},
          {"the last", place.eq(kQueries - 1)},
          {"a few", at::rand({kQueries, 1}) < 0.02},
          {"two whole tiles", (place >= 48).logical_and(place < 144)},
          {"none", place < 0}};
}

// A query's gradient does not depend on those of others: the same bits, and zeros where nothing was
// asked. Half of the upstream's zeros are -0, products of a number and 0.
TEST(SoftmaxAttentionZeroRowsTest, QueriesWithoutGradientAreLeftOut) {
  const auto inputs = AllInputs();
  const auto asked = AskedQueries();
  const at::Tensor upstream = RandomHeads(kQueries, 7);
  ForPathsAndProducts([&](bool is_bfloat16) {
    for (const auto& [name, input] : inputs) {
      const SoftmaxGradients all = Tiled(input, upstream);
      for (const auto& [queries, is_asked] : asked) {
        SCOPED_TRACE(name + "; asked: " + queries);
        const at::Tensor some = upstream * is_asked;
        const SoftmaxGradients got = Tiled(input, some);
        EXPECT_TRUE(at::equal(got.q, all.q * is_asked));
        if (is_bfloat16) continue;
        const SoftmaxGradients expected = InFloat64(input, some);
        ExpectNear(got.q, expected.q, 3e-5, "dq");
        ExpectNear(got.k, expected.k, 3e-5, "dk");
        ExpectNear(got.v, expected.v, 3e-5, "dv");
        ExpectNear(got.bias, expected.bias, 3e-5, "dbias");
      }
    }
  });
}

// Tiles without a gradient change no bit of dK and dV: they are those of the other queries alone.
TEST(SoftmaxAttentionZeroRowsTest, TheirTilesAddNothing) {
  const auto inputs = AllInputs();
  const at::Tensor upstream = RandomHeads(kQueries, 7);
  const at::Tensor place = at::arange(kQueries).view({-1, 1});
  const at::Tensor some = upstream * (place >= 48).logical_and(place < 144);
  ForPathsAndProducts([&](bool) {
    for (size_t i = 0; i < 2; ++i) {  // those in which a query's place does not count
      SCOPED_TRACE(inputs[i].first);
      SoftmaxInput cut = inputs[i].second;
      cut.q = cut.q.narrow(2, 48, 96);
      SoftmaxGradients got = Tiled(inputs[i].second, some);
      got.q = got.q.narrow(2, 48, 96);
      ExpectEqual(got, Tiled(cut, upstream.narrow(2, 48, 96)));
    }
  });
}

// The same of a whole example, which also gives nothing to the gradient of the bias.
TEST(SoftmaxAttentionZeroRowsTest, AnExampleWithoutGradientAddsNothing) {
  const auto inputs = AllInputs();
  const at::Tensor upstream = RandomHeads(kQueries, 7);
  const at::Tensor second = at::arange(kBatch).view({-1, 1, 1, 1}).eq(1);
  ForPathsAndProducts([&](bool) {
    for (const auto& [name, input] : inputs) {
      SCOPED_TRACE(name);
      SoftmaxInput alone = input;
      for (at::Tensor* t : {&alone.q, &alone.k, &alone.v, &alone.keep})
        if (t->defined()) *t = t->narrow(0, 1, 1);
      if (input.weight_dropout.active())
        alone.weight_dropout.example_ids = input.weight_dropout.example_ids.narrow(0, 1, 1);
      const SoftmaxGradients both = Tiled(input, upstream * second);
      for (const at::Tensor& t : {both.q, both.k, both.v})
        EXPECT_EQ(t[0].abs().max().item<double>(), 0);
      ExpectEqual(
          {both.q.narrow(0, 1, 1), both.k.narrow(0, 1, 1), both.v.narrow(0, 1, 1), both.bias},
          Tiled(alone, upstream.narrow(0, 1, 1)));
    }
  });
}

// A query that is not a number is not seen where nothing of its tile is asked.
TEST(SoftmaxAttentionZeroRowsTest, NotANumberIsNotSeenWhereNothingIsAsked) {
  SoftmaxInput input = AllInputs()[0].second;
  const at::Tensor place = at::arange(kQueries).view({-1, 1});
  const at::Tensor some = RandomHeads(kQueries, 7) * place.eq(0);
  const SoftmaxGradients clean = Tiled(input, some);
  input.q = input.q.clone();
  input.q.narrow(2, 100, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  ExpectEqual(Tiled(input, some), clean);
}

}  // namespace
}  // namespace lra
