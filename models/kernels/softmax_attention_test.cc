#include "models/kernels/softmax_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace lra {
namespace {

long PeakKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(SoftmaxAttentionTest, MemoryIsLinearInTokensWithAndWithoutMask) {
  const int64_t n = 8192;  // one N x N float matrix would be 256 MB
  at::Tensor q = at::randn({2, n, 1, 16}).transpose(1, 2).set_requires_grad(true);
  at::Tensor keep = at::ones({2, n}, at::kBool);
  keep[1].slice(0, n / 2).fill_(false);
  const long before = PeakKilobytes();
  SoftmaxAttention(q, q, q, at::Tensor(), {}).sum().backward();
  SoftmaxAttention(q, q, q, keep, {}).sum().backward();
  EXPECT_LT(PeakKilobytes() - before, 100000);
}

TEST(SoftmaxAttentionTest, AllKeptMaskEqualsNoMask) {
  const at::Tensor q = at::randn({2, 3, 50, 8}), k = at::randn({2, 3, 50, 8}),
                   v = at::randn({2, 3, 50, 8});
  const at::Tensor keep = at::ones({2, 50}, at::kBool);
  EXPECT_TRUE(
      at::equal(SoftmaxAttention(q, k, v, keep, {}), SoftmaxAttention(q, k, v, at::Tensor(), {})));
}

TEST(SoftmaxAttentionTest, WeightDropoutKeepsTheMean) {
  const at::Tensor q = at::randn({1, 1, 400, 8}), v = at::ones({1, 1, 400, 8});
  const DropoutKey key = {0.5, 1, 2, 3, at::tensor(std::vector<int64_t>{0}, at::kLong)};
  const at::Tensor out = SoftmaxAttention(q, q, v, at::Tensor(), key);
  EXPECT_NEAR(out.mean().item<double>(), 1.0, 0.02);
  EXPECT_GT(out.std().item<double>(), 0.01);
}

}  // namespace
}  // namespace lra
