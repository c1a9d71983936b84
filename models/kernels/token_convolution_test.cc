#include "models/kernels/token_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

struct TokenFilterShape {
  const char* name;
  int64_t batch, heads, tokens, width, taps;
};

// One shifted copy of x for each tap.
at::Tensor Definition(const at::Tensor& residual, const at::Tensor& x, const at::Tensor& filters) {
  const int64_t taps = filters.size(1), side = taps / 2;
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, side, side});
  at::Tensor y = residual;
  for (int64_t t = 0; t < taps; ++t)
    y = y + filters.select(1, t).view({-1, 1, 1}) * padded.narrow(2, t, x.size(2));
  return y;
}

// The output, and the gradients of residual, x and filters.
template <class Function>
std::vector<at::Tensor> FilterOutcome(const TokenFilterShape& s, at::ScalarType type,
                                      Function convolve) {
  at::manual_seed(5);
  const auto leaf = [&](const at::Tensor& t) { return t.to(type).set_requires_grad(true); };
  const auto heads = [&] {
    return at::randn({s.batch, s.tokens, s.heads, s.width}, at::kDouble).transpose(1, 2);
  };
  const at::Tensor residual = leaf(heads()), x = leaf(heads()),
                   filters = leaf(at::randn({s.heads, s.taps}, at::kDouble));
  const at::Tensor upstream = heads().to(type);
  const at::Tensor output = convolve(residual, x, filters);
  (output * upstream).sum().backward();
  return {output.detach(), residual.grad(), x.grad(), filters.grad()};
}

class TokenConvolutionTest : public testing::TestWithParam<TokenFilterShape> {};

TEST_P(TokenConvolutionTest, EqualsTheDefinitionWithItsGradients) {
  const TokenFilterShape s = GetParam();
  const std::vector<at::Tensor> expected = FilterOutcome(s, at::kDouble, Definition);
  const auto compare = [&](at::ScalarType type, double tolerance,
                           decltype(&AddTokenConvolution) convolve = &AddTokenConvolution) {
    const std::vector<at::Tensor> actual = FilterOutcome(s, type, convolve);
    for (size_t i = 0; i < actual.size(); ++i) {
      const double scale = std::max(1.0, expected[i].abs().max().item<double>());
      EXPECT_LE((actual[i].to(at::kDouble) - expected[i]).abs().max().item<double>(),
                tolerance * scale)
          << i;
    }
  };
  compare(at::kDouble, 1e-12);
  compare(at::kDouble, 1e-12, &internal::AddTokenConvolutionByBands);
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    SCOPED_TRACE(KernelPathName(path));
    compare(at::kFloat, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TokenConvolutionTest,
                         testing::Values(TokenFilterShape{"even", 2, 3, 256, 64, 35},
                                         TokenFilterShape{"ragged", 2, 2, 301, 20, 13},
                                         TokenFilterShape{"wider_than_long", 1, 2, 5, 4, 35},
                                         TokenFilterShape{"one_tap", 1, 2, 9, 3, 1}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lra
