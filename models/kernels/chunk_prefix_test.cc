#include "models/kernels/chunk_prefix.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <vector>

namespace lra {
namespace {

// Up to rounding of numbers of the order of 1.
void ExpectEqual(const at::Tensor& got, const at::Tensor& expected) {
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_LT((got - expected).abs().max().item<double>(), 1e-11);
}

// The recurrence that EarlierSums() is short for.
at::Tensor EarlierOneByOne(const at::Tensor& states, const ChunkFading& fading) {
  at::Tensor sum = at::zeros_like(states.select(1, 0));
  std::vector<at::Tensor> sums = {sum};
  for (int64_t t = 1; t < states.size(1); ++t) {
    if (fading.logs.defined()) sum = sum * fading.logs.select(1, t - 1).exp().view({-1, 1, 1});
    sum = sum + states.select(1, t - 1);
    if (fading.scales.defined()) sum = sum * fading.scales.select(1, t - 1).unsqueeze(1);
    sums.push_back(sum);
  }
  return at::stack(sums, 1);
}

TEST(ChunkPrefixTest, SumsAreThoseOfTheRecurrenceAndItsAdjoint) {
  for (const int64_t chunks : {1, 2, 128, 129, 300}) {
    const at::Tensor states = at::randn({2, chunks, 3, 4}, at::kDouble),
                     upstream = at::randn({2, chunks, 3, 4}, at::kDouble);
    for (const int bits : {0, 1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << chunks << " chunks, fading " << bits);
      ChunkFading fading;
      if (bits & 1) fading.logs = -at::rand({2, chunks}, at::kDouble);
      if (bits & 2) fading.scales = at::rand({2, chunks - 1, 4}, at::kDouble);
      const at::Tensor sums = EarlierSums(states, fading);
      ExpectEqual(sums, EarlierOneByOne(states, fading));
      EXPECT_NEAR((sums * upstream).sum().item<double>(),
                  (states * LaterSums(upstream, fading)).sum().item<double>(), 1e-9);
    }
  }
}

TEST(ChunkPrefixTest, SuffixSumsAreReversedCumulativeSums) {
  for (const int64_t n : {1, 127, 128, 129, 20000}) {
    const at::Tensor t = at::randn({3, n}, at::kDouble);
    ExpectEqual(SuffixSums(t), t.flip(1).cumsum(1).flip(1));
  }
}

}  // namespace
}  // namespace lra
