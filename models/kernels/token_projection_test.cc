#include "models/kernels/token_projection.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lra
