#include "models/kernels/linear_map.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/base/kernel_path.h"
#include "models/base/optional_tensor.h"

namespace lra {
namespace {

// The output, and the gradients of x, weight and bias.
template <class Apply>
std::vector<at::Tensor> Run(const at::Tensor& x, const LinearMap& map, const at::Tensor& upstream,
                            at::ScalarType type, Apply apply) {
  const auto leaf = [&](const at::Tensor& t) {
    return t.defined() ? t.detach().to(type).set_requires_grad(true) : t;
  };
  const at::Tensor input = leaf(x);
  const LinearMap used = {leaf(map.weight), leaf(map.bias)};
  const at::Tensor out = apply(input, used);
  (out * upstream.to(type)).sum().backward();
  std::vector<at::Tensor> result = {out.detach(), input.grad(), used.weight.grad()};
  if (map.bias.defined()) result.push_back(used.bias.grad());
  return result;
}

void ExpectLinear(int64_t in, int64_t out, bool has_bias, double tolerance) {
  const LinearMap map = {at::randn({out, in}), has_bias ? at::randn({out}) : at::Tensor()};
  // Tokens that fill no tile, seen through other strides.
  const at::Tensor x = at::randn({2, in, 331}).transpose(1, 2);
  const at::Tensor upstream = at::randn({2, 331, out});
  const std::vector<at::Tensor> tiled = Run(x, map, upstream, at::kFloat, ApplyLinear);
  const std::vector<at::Tensor> exact =
      Run(x, map, upstream, at::kDouble, [](const at::Tensor& t, const LinearMap& m) {
        return at::linear(t, m.weight, IfDefined(m.bias));
      });
  for (size_t i = 0; i < exact.size(); ++i) {
    const double largest = std::max(1.0, exact[i].abs().max().item<double>());
    EXPECT_LT((tiled[i] - exact[i]).abs().max().item<double>(), tolerance * largest)
        << in << " -> " << out << ", tensor " << i;
  }
}

TEST(LinearMapTest, EqualsLinearWithItsGradientsOnEveryPath) {
  at::manual_seed(6);
  for (const KernelPath path : AvailableKernelPaths()) {
    SCOPED_TRACE(KernelPathName(path));
    const ScopedKernelPath use(path);
    for (const bool has_bias : {true, false}) {
      ExpectLinear(64, 128, has_bias, 1e-5);
      ExpectLinear(13, 7, has_bias, 1e-5);
    }
  }
}

TEST(LinearMapTest, Bfloat16ProductsStayNear) {
  if (!HasBfloat16Products()) GTEST_SKIP() << "this machine has no bfloat16 products";
  at::manual_seed(7);
  const ProductTypeScope bfloat16(true);
  ExpectLinear(64, 128, true, 3.0 / 256);
  ExpectLinear(13, 7, false, 3.0 / 256);
}

}  // namespace
}  // namespace lra
