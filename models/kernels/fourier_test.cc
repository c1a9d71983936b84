#include "models/kernels/fourier.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/sin.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"

namespace lra {
namespace {

// cos and sin of 2 pi n m / size.
at::Tensor Angles(int64_t size) {
  const at::Tensor n = at::arange(size, at::kDouble);
  return 2 * std::numbers::pi / static_cast<double>(size) * at::outer(n, n);
}

TEST(FourierMixingTest, EqualsTheDiscreteTransformByItsDefinition) {
  for (const auto& [tokens, channels] :
       {std::pair<int64_t, int64_t>{5, 4}, {6, 3}, {1, 1}, {2, 7}}) {
    const at::Tensor x = Sines({2, tokens, channels}, 0.3);
    const at::Tensor n = Angles(tokens), c = Angles(channels);
    // The expected value is Re((cos - i sin) x (cos - i sin)).
    const at::Tensor expected =
        at::matmul(at::matmul(n.cos(), x), c.cos()) - at::matmul(at::matmul(n.sin(), x), c.sin());
    EXPECT_LT(Worst(FourierMixing(x, false), expected), 1e-12);
    const double root = std::sqrt(static_cast<double>(tokens * channels));
    EXPECT_LT(Worst(FourierMixing(x, true), expected / root), 1e-12);
  }
}

TEST(FourierMixingTest, TwiceGivesTheInputAndItsReversal) {
  const at::Tensor x = Sines({1, 5, 6}, 0.1);
  const at::Tensor reversed = x.flip({1, 2}).roll({1, 1}, {1, 2});
  EXPECT_LT(Worst(FourierMixing(FourierMixing(x, true), true), (x + reversed) / 2), 1e-13);
}

TEST(FourierMixingTest, IsItsOwnBackward) {
  const at::Tensor x = Sines({2, 5, 4}, 0.2).set_requires_grad(true), g = Sines({2, 5, 4}, 1.0);
  FourierMixing(x, true).backward(g);
  EXPECT_LT(Worst(x.grad(), FourierMixing(g, true)), 1e-14);
}

// Float32 on every path against float64, whose form another test compares with the definition.
TEST(FourierMixingTest, TilesGiveTheSameTransform) {
  for (const int64_t tokens : {1, 2, 3, 6, 16, 30, 48, 64, 256}) {
    for (const int64_t channels : {32, 64, 80, 96}) {
      const bool is_tiled = tokens != 30 && channels != 80;
      EXPECT_EQ(internal::HasTiledFourierMixing(tokens, channels), is_tiled);
      const at::Tensor x = Sines({3, tokens, channels}, 0.7).requires_grad_(true);
      const at::Tensor upstream = Sines({3, tokens, channels}, 0.1);
      const at::Tensor expected = FourierMixing(x, true);
      expected.backward(upstream);
      for (const KernelPath path : AvailableKernelPaths()) {
        const ScopedKernelPath use(path);
        SCOPED_TRACE(absl::StrCat(KernelPathName(path), " ", tokens, " x ", channels));
        const at::Tensor single = x.detach().to(at::kFloat).requires_grad_(true);
        const at::Tensor actual = FourierMixing(single, true);
        actual.backward(upstream.to(at::kFloat));
        EXPECT_LT(Worst(actual, expected), 1e-5);
        EXPECT_LT(Worst(single.grad(), x.grad()), 1e-5);
      }
    }
  }
}

TEST(FourierMixingTest, ThreadsChangeNothing) {
  const at::Tensor x = Sines({2, 128, 96}, 0.7).to(at::kFloat);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = FourierMixing(x, false);
  at::set_num_threads(3);
  const at::Tensor three = FourierMixing(x, false);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one, three));
}

}  // namespace
}  // namespace lra
