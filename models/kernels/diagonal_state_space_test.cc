#include "models/kernels/diagonal_state_space.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <vector>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

TEST(ExponentialSumsTest, EqualTheSumsTermByTerm) {
  const std::complex<double> rate[2][2] = {{{-0.3, 1.1}, {-0.01, 4.0}}, {{-2.0, -0.5}, {0.0, 0.2}}};
  const std::complex<double> weight[2][2] = {{{1.0, 0.5}, {-0.2, 0.3}}, {{0.7, -1.0}, {0.1, 0.0}}};
  const auto tensor = [](const std::complex<double>(&values)[2][2]) {
    at::Tensor t = at::empty({2, 2}, at::kComplexDouble);
    for (int c = 0; c < 2; ++c) {
      for (int p = 0; p < 2; ++p) t[c][p].fill_(c10::complex<double>(values[c][p]));
    }
    return t;
  };
  for (const int64_t length : {1, 2, 3, 16, 23}) {
    const at::Tensor sums =
        ExponentialSums(tensor(rate), tensor(weight).unsqueeze(0), length, at::kDouble);
    ASSERT_EQ(sums.sizes().vec(), (std::vector<int64_t>{1, 2, length}));
    for (int c = 0; c < 2; ++c) {
      for (int64_t l = 0; l < length; ++l) {
        double expected = 0;
        for (int p = 0; p < 2; ++p) {
          expected += 2 * (weight[c][p] * std::exp(static_cast<double>(l) * rate[c][p])).real();
        }
        EXPECT_NEAR(sums[0][c][l].item<double>(), expected, 1e-13) << c << " " << l;
      }
    }
  }
}

// Values and gradients of the tables made by repeated products, against those of one exponential
// each.
TEST(ExponentialSumsTest, TilesEqualTheGenericFormOnEveryPath) {
  for (const KernelPath path : AvailableKernelPaths()) {
    if (path == KernelPath::kGeneric) continue;
    const ScopedKernelPath forced(path);
    for (const std::array<int64_t, 4>& sizes :
         {std::array<int64_t, 4>{1, 1, 1, 1}, {2, 3, 2, 2}, {3, 8, 1, 17}, {2, 5, 2, 1000}}) {
      // Structured bindings are not captured by every compiler.
      const int64_t channels = sizes[0], pairs = sizes[1], directions = sizes[2], length = sizes[3];
      const at::Tensor scale = at::arange(pairs, at::kDouble) / static_cast<double>(pairs);
      const auto run = [&](bool is_tiled) {
        at::manual_seed(3);
        const at::Tensor rate = at::complex(-0.01 * at::rand({channels, pairs}, at::kDouble),
                                            scale.expand({channels, pairs}) * 3)
                                    .set_requires_grad(true);
        const at::Tensor weight =
            at::randn({directions, channels, pairs}, at::kComplexDouble).set_requires_grad(true);
        const at::Tensor sums =
            is_tiled ? internal::ExponentialSumsTiled(rate, weight, length)
                     : internal::ExponentialSumsGeneric(rate, weight, length, at::kDouble);
        sums.backward(at::randn(sums.sizes(), at::kDouble).to(sums.scalar_type()));
        return std::vector<at::Tensor>{
            at::complex(sums.detach().to(at::kDouble), at::zeros(sums.sizes(), at::kDouble)),
            rate.grad(), weight.grad()};
      };
      const std::vector<at::Tensor> tiled = run(true), exact = run(false);
      for (size_t i = 0; i < exact.size(); ++i) {
        EXPECT_LT(at::abs(tiled[i] - exact[i]).max().item<double>(),
                  2e-6 * (1 + at::abs(exact[i]).max().item<double>()))
            << KernelPathName(path) << ", length " << length << ", number " << i;
      }
    }
  }
}

// At late lags a float32 phase of 3e4 would be wrong by 1e-3.
TEST(ExponentialSumsTest, Float32KeepsLatePhases) {
  const at::Tensor rate =
      at::complex(at::full({1, 1}, -1e-6, at::kDouble), at::full({1, 1}, 7.3, at::kDouble));
  const at::Tensor weight = at::ones({1, 1, 1}, at::kComplexDouble);
  const at::Tensor exact = ExponentialSums(rate, weight, 4096, at::kDouble),
                   rounded = ExponentialSums(rate, weight, 4096, at::kFloat);
  EXPECT_EQ(rounded.scalar_type(), at::kFloat);
  EXPECT_LT((exact - rounded).abs().max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace lra
