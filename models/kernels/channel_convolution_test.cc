#include "models/kernels/channel_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <tuple>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

TEST(ChannelConvolutionTest, IsItsSum) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({2, 9, 3}, at::kDouble), f = at::randn({4, 3}, at::kDouble);
  for (const int64_t after : {0, 1, 3}) {
    const at::Tensor y = internal::ChannelConvolutionGeneric(x, f, after);
    for (int64_t n = 0; n < 9; ++n) {
      double sum = 0;
      for (int64_t t = 0; t < 4; ++t) {
        const int64_t m = n + t - (3 - after);
        if (m >= 0 && m < 9) sum += f[t][2].item<double>() * x[1][m][2].item<double>();
      }
      EXPECT_NEAR(y[1][n][2].item<double>(), sum, 1e-12) << "token " << n << ", after " << after;
    }
  }
}

class TiledChannelConvolutionTest
    : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

// Output and both gradients, against the generic form in float64, on every path.
TEST_P(TiledChannelConvolutionTest, IsTheGenericForm) {
  const auto [tokens, width, taps] = GetParam();
  at::manual_seed(2);
  const at::Tensor x = at::randn({3, width, tokens}).transpose(1, 2),
                   filters = at::randn({taps, width}), upstream = at::randn({3, tokens, width});
  for (const int64_t after : {int64_t{0}, taps / 2, taps - 1}) {
    const auto run = [&](at::ScalarType type, auto convolve) {
      const at::Tensor a = x.to(type).detach().requires_grad_(),
                       f = filters.to(type).detach().requires_grad_();
      const at::Tensor y = convolve(a, f, after);
      y.backward(upstream.to(type));
      return std::tuple(y.detach(), a.grad(), f.grad());
    };
    const auto [y, dx, df] = run(at::kDouble, internal::ChannelConvolutionGeneric);
    const auto [y2, dx2, df2] = run(at::kDouble, internal::ChannelConvolutionByTaps);
    EXPECT_TRUE(at::allclose(y2, y, 1e-12, 1e-12));
    EXPECT_TRUE(at::allclose(dx2, dx, 1e-12, 1e-12));
    EXPECT_TRUE(at::allclose(df2, df, 1e-12, 1e-12));
    for (const KernelPath path : AvailableKernelPaths()) {
      const ScopedKernelPath use(path);
      const auto [fast_y, fast_dx, fast_df] = run(at::kFloat, ChannelConvolution);
      EXPECT_TRUE(at::allclose(fast_y.to(at::kDouble), y, 1e-5, 1e-5)) << KernelPathName(path);
      EXPECT_TRUE(at::allclose(fast_dx.to(at::kDouble), dx, 1e-5, 1e-5)) << KernelPathName(path);
      EXPECT_TRUE(at::allclose(fast_df.to(at::kDouble), df, 1e-5, 1e-4)) << KernelPathName(path);
    }
  }
}

// Sequences shorter than the filter, one tap, widths that fill no vector.
INSTANTIATE_TEST_SUITE_P(Shapes, TiledChannelConvolutionTest,
                         testing::Values(std::tuple(1, 5, 7), std::tuple(40, 64, 6),
                                         std::tuple(17, 33, 1), std::tuple(3, 8, 9)));

TEST(ChannelConvolutionTest, AUnitFilterGivesTheInputBack) {
  const at::Tensor x = at::randn({2, 6, 4}), filters = at::zeros({5, 4});
  filters[2].fill_(1);
  EXPECT_TRUE(ChannelConvolution(x, filters, 2).equal(x));
}

}  // namespace
}  // namespace lra
