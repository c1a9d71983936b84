#include "models/kernels/block_mixing.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

struct Shape {
  const char* name;
  int64_t batch, heads, blocks, block, width;
};

struct Mixed {
  at::Tensor output, weights, x;  // and gradients
};

template <class Function>
Mixed Outcome(const Shape& s, at::ScalarType type, Function mix) {
  at::manual_seed(3);
  const auto leaf = [&](const at::Tensor& t) { return t.to(type).set_requires_grad(true); };
  const at::Tensor weights = leaf(at::randn({s.batch, s.heads, s.blocks, s.blocks}, at::kDouble));
  const at::Tensor x =
      leaf(at::randn({s.batch, s.blocks * s.block, s.heads, s.width}, at::kDouble).transpose(1, 2));
  const at::Tensor upstream = at::randn(x.sizes(), at::kDouble).to(type);
  const at::Tensor output = mix(weights, x);
  (output * upstream).sum().backward();
  return {output.detach(), weights.grad(), x.grad()};
}

void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LE((actual.to(at::kDouble) - expected).abs().max().item<double>(), tolerance * scale);
}

class BlockMixingTest : public testing::TestWithParam<Shape> {};

TEST_P(BlockMixingTest, EqualsTheDefinitionWithItsGradients) {
  const Shape s = GetParam();
  const auto definition = [&](const at::Tensor& weights, const at::Tensor& x) {
    return at::einsum("bhnm,bhmsd->bhnsd", {weights, x.unflatten(2, {s.blocks, s.block})})
        .flatten(2, 3);
  };
  const auto kernel = [&](const at::Tensor& weights, const at::Tensor& x) {
    return MixBlocks(weights, x, s.block);
  };
  const Mixed expected = Outcome(s, at::kDouble, definition);
  const auto compare = [&](const Mixed& actual, double tolerance) {
    ExpectNear(actual.output, expected.output, tolerance);
    ExpectNear(actual.weights, expected.weights, tolerance);
    ExpectNear(actual.x, expected.x, tolerance);
  };
  compare(Outcome(s, at::kDouble, kernel), 1e-12);
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    SCOPED_TRACE(KernelPathName(path));
    compare(Outcome(s, at::kFloat, kernel), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockMixingTest,
                         testing::Values(Shape{"even", 2, 3, 16, 8, 64},
                                         Shape{"ragged", 2, 2, 5, 7, 12},
                                         Shape{"single", 1, 2, 1, 3, 4},
                                         Shape{"wide", 1, 1, 21, 3, 300}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BlockMixingTest, ThreadsChangeNothing) {
  const auto run = [](int threads) {
    at::set_num_threads(threads);
    return Outcome({"", 2, 3, 9, 5, 8}, at::kFloat,
                   [](const auto& weights, const auto& x) { return MixBlocks(weights, x, 5); });
  };
  const int before = at::get_num_threads();
  const Mixed one = run(1), three = run(3);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one.output, three.output));
  EXPECT_TRUE(at::equal(one.weights, three.weights));
  EXPECT_TRUE(at::equal(one.x, three.x));
}

}  // namespace
}  // namespace lra
