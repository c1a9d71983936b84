#include "models/kernels/token_projection.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

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

TEST(TokenProjectionTest, MaskedTokensAreSelectedAway) {
  at::Tensor x = at::ones({1, 2, 3, 4});
  x.select(2, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  x.set_requires_grad(true);
  at::Tensor keep = at::ones({1, 3}, at::kBool);
  keep[0][1] = false;
  const at::Tensor selected = SelectTokens(x, keep);
  selected.square().sum().backward();
  EXPECT_EQ(selected.sum().item<double>(), 2 * 2 * 4);
  EXPECT_EQ(x.grad().select(2, 1).abs().sum().item<double>(), 0);
  EXPECT_EQ(x.grad().sum().item<double>(), 2 * 2 * 2 * 4);
}

}  // namespace
}  // namespace lra
