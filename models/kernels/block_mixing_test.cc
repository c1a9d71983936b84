#include "models/kernels/block_mixing.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"

namespace lra {
namespace {

struct MixingShape {
  const char* name;
  int64_t batch, heads, blocks, block, width;
};

struct MixingOutcome {
  at::Tensor own, mixed, weights, x;  // the last two are gradients
};

// Which of the two results a model goes on with.
enum class Used { kMixed, kBoth, kOwn };

template <class Function>
MixingOutcome Mix(const MixingShape& s, at::ScalarType type, Used used, Function function) {
  at::manual_seed(3);
  const auto leaf = [&](const at::Tensor& t) { return t.to(type).set_requires_grad(true); };
  const at::Tensor weights = leaf(at::randn({s.batch, s.heads, s.blocks, s.blocks}, at::kDouble));
  const at::Tensor x =
      leaf(at::randn({s.batch, s.blocks * s.block, s.heads, s.width}, at::kDouble).transpose(1, 2));
  const auto upstream = [&] { return at::randn(x.sizes(), at::kDouble).to(type); };
  const at::Tensor to_mixed = upstream(), to_own = upstream();
  const MixedBlocks y = function(weights, x);
  at::Tensor loss = used == Used::kOwn ? at::Tensor() : (y.mixed * to_mixed).sum();
  if (used != Used::kMixed) {
    const at::Tensor own = (y.own * to_own).sum();
    loss = loss.defined() ? loss + own : own;
  }
  loss.backward();
  return {y.own.detach(), y.mixed.detach(), weights.grad(), x.grad()};
}

class BlockMixingTest : public testing::TestWithParam<MixingShape> {};

TEST_P(BlockMixingTest, EqualsTheDefinitionWithItsGradients) {
  const MixingShape s = GetParam();
  const auto definition = [&](const at::Tensor& weights, const at::Tensor& x) {
    return MixedBlocks{
        x, at::einsum("bhnm,bhmsd->bhnsd", {weights, x.unflatten(2, {s.blocks, s.block})})
               .flatten(2, 3)};
  };
  const auto kernel = [&](const at::Tensor& weights, const at::Tensor& x) {
    return MixBlocks(weights, x, s.block);
  };
  for (const Used used : {Used::kMixed, Used::kBoth, Used::kOwn}) {
    const MixingOutcome expected = Mix(s, at::kDouble, used, definition);
    const auto compare = [&](const MixingOutcome& actual, double tolerance) {
      EXPECT_TRUE(at::equal(actual.own, expected.own.to(actual.own.scalar_type())));
      ExpectNear(actual.mixed, expected.mixed, tolerance);
      ExpectNear(actual.x, expected.x, tolerance);
      ASSERT_EQ(actual.weights.defined(), expected.weights.defined());
      if (expected.weights.defined()) ExpectNear(actual.weights, expected.weights, tolerance);
    };
    compare(Mix(s, at::kDouble, used, kernel), 1e-12);
    for (const KernelPath path : AvailableKernelPaths()) {
      const ScopedKernelPath use(path);
      SCOPED_TRACE(KernelPathName(path));
      compare(Mix(s, at::kFloat, used, kernel), 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockMixingTest,
                         testing::Values(MixingShape{"even", 2, 3, 16, 8, 64},
                                         MixingShape{"ragged", 2, 2, 5, 7, 12},
                                         MixingShape{"single", 1, 2, 1, 3, 4},
                                         MixingShape{"wide", 1, 1, 21, 3, 300}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BlockMixingTest, ThreadsChangeNothing) {
  const auto run = [](int threads) {
    at::set_num_threads(threads);
    return Mix({"", 2, 3, 9, 5, 8}, at::kFloat, Used::kBoth,
               [](const auto& weights, const auto& x) { return MixBlocks(weights, x, 5); });
  };
  const int before = at::get_num_threads();
  const MixingOutcome one = run(1), three = run(3);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one.mixed, three.mixed));
  EXPECT_TRUE(at::equal(one.weights, three.weights));
  EXPECT_TRUE(at::equal(one.x, three.x));
}

}  // namespace
}  // namespace lra
