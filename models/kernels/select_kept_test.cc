#include "models/kernels/select_kept.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <limits>

namespace lra {
namespace {

TEST(SelectKeptTest, MaskedTokensAreSelectedAway) {
  for (const KeptLayout layout : {KeptLayout::kContiguous, KeptLayout::kAsGiven}) {
    at::Tensor x = at::ones({1, 2, 3, 4});
    x.select(2, 1).fill_(std::numeric_limits<float>::quiet_NaN());
    x.set_requires_grad(true);
    at::Tensor keep = at::ones({1, 3}, at::kBool);
    keep[0][1] = false;
    const at::Tensor selected = SelectKept(x, keep, layout);
    selected.square().sum().backward();
    EXPECT_EQ(selected.sum().item<double>(), 2 * 2 * 4);
    EXPECT_EQ(x.grad().select(2, 1).abs().sum().item<double>(), 0);
    EXPECT_EQ(x.grad().sum().item<double>(), 2 * 2 * 2 * 4);
  }
}

TEST(SelectKeptTest, LaysOutWhatItWasAskedFor) {
  const at::Tensor x = at::ones({2, 5, 3, 4}).transpose(1, 2);  // [B, H, N, D] over [B, N, H, D]
  const at::Tensor keep = at::ones({2, 5}, at::kBool);
  EXPECT_TRUE(SelectKept(x, keep).is_contiguous());
  EXPECT_EQ(SelectKept(x, keep, KeptLayout::kAsGiven).strides(), x.strides());
  EXPECT_TRUE(SelectKept(x, at::Tensor()).is_same(x));
}

}  // namespace
}  // namespace lra
