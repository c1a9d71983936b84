#include "models/kernels/token_projection.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

TEST(TokenProjectionTest, EveryKindOfMapIsTheSumOverTokens) {
  const int64_t b = 2, h = 3, n = 5, d = 4, r = 2;
  const at::Tensor x = at::randn({b, h, n, d}, at::kDouble);
  for (const at::Tensor& map : {at::randn({r, n}, at::kDouble), at::randn({b, r, n}, at::kDouble),
                                at::randn({1, h, r, n}, at::kDouble)}) {
    const at::Tensor out = ProjectTokens(map, x);
    const at::Tensor all = map.dim() == 3 ? map.unsqueeze(1) : map;  // [B or 1, H or 1, R, N]
    const at::Tensor expected = (all.unsqueeze(-1) * x.unsqueeze(2)).sum(3);
    ASSERT_EQ(out.sizes(), expected.sizes());
    EXPECT_LT((out - expected).abs().max().item<double>(), 1e-12);
  }
}

// Across several tiles of tokens, a last one that is not whole, and rows that lie apart.
TEST(TokenProjectionTest, TilesEqualTheGenericForm) {
  for (const KernelPath path : AvailableKernelPaths()) {
    ScopedKernelPath use(path);
    for (const int64_t tokens : {3, 128, 301}) {
      const int64_t b = 2, h = 3, d = 20, r = 13;
      at::Tensor whole = at::randn({r, tokens + 9}).set_requires_grad(true);
      at::Tensor rows = at::randn({b, tokens, h, d}).set_requires_grad(true);
      const at::Tensor map = whole.narrow(1, 0, tokens), x = rows.transpose(1, 2);
      const at::Tensor upstream = at::randn({b, h, r, d});
      const at::Tensor tiled = ProjectTokens(map, x),
                       generic = internal::ProjectTokensGeneric(map, x);
      EXPECT_LT((tiled - generic).abs().max().item<double>(), 1e-4);
      generic.backward(upstream);
      const at::Tensor expected_map = whole.grad().clone(), expected_rows = rows.grad().clone();
      whole.mutable_grad() = at::Tensor();
      rows.mutable_grad() = at::Tensor();
      tiled.backward(upstream);
      EXPECT_LT((whole.grad() - expected_map).abs().max().item<double>(), 1e-4);
      EXPECT_LT((rows.grad() - expected_rows).abs().max().item<double>(), 1e-4);
    }
  }
}

}  // namespace
}  // namespace lra
