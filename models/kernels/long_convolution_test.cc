#include "models/kernels/long_convolution.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <vector>

#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"

namespace lra {
namespace {

TEST(LongConvolutionTest, EqualsTheSum) {
  for (const int64_t tokens : {1, 2, 7, 13}) {
    const at::Tensor x = Sines({2, tokens, 3}, 0.4), past = Sines({3, tokens}, 0.9),
                     future = Sines({3, tokens}, 1.3);
    at::Tensor causal = at::zeros_like(x), both = at::zeros_like(x);
    for (int64_t i = 0; i < tokens; ++i) {
      for (int64_t j = 0; j < tokens; ++j) {
        const at::Tensor weight = j <= i ? past.select(1, i - j) : future.select(1, j - i - 1);
        both.select(1, i) += weight * x.select(1, j);
        if (j <= i) causal.select(1, i) += weight * x.select(1, j);
      }
    }
    EXPECT_LT(Worst(LongConvolution(x, past, at::Tensor()), causal), 1e-13) << tokens;
    EXPECT_LT(Worst(LongConvolution(x, past, future), both), 1e-13) << tokens;
    // The same in float32, where tiles compute it.
    const at::Tensor tiled = LongConvolution(x.to(at::kFloat), past.to(at::kFloat), {}),
                     tiled_both = LongConvolution(x.to(at::kFloat), past.to(at::kFloat),
                                                  future.to(at::kFloat));
    EXPECT_LT(Worst(tiled, causal), 3e-6) << tokens;
    EXPECT_LT(Worst(tiled_both, both), 3e-6) << tokens;
  }
}

struct LongCase {
  int64_t batch, tokens, channels;
  bool has_future;
};

// Output and gradients of x, past and future (if any).
std::vector<at::Tensor> RunForm(decltype(LongConvolution)* form, const LongCase& c,
                                at::ScalarType type) {
  at::manual_seed(static_cast<uint64_t>(c.tokens));
  const auto leaf = [&](at::IntArrayRef shape) {
    return at::randn(shape, at::kDouble).to(type).set_requires_grad(true);
  };
  const at::Tensor x = leaf({c.batch, c.tokens, c.channels}), past = leaf({c.channels, c.tokens}),
                   future = c.has_future ? leaf({c.channels, c.tokens}) : at::Tensor();
  const at::Tensor y = form(x, past, future);
  y.backward(at::randn(y.sizes(), at::kDouble).to(type));
  std::vector<at::Tensor> all = {y.detach(), x.grad(), past.grad()};
  if (c.has_future) all.push_back(future.grad());
  return all;
}

// Lengths of transforms: powers of two, three times such, and lengths between; channels that fill
// the lanes or do not; batches with and without a partner for the last example.
const LongCase kCases[] = {{1, 1, 1, true},    {2, 2, 5, true},     {3, 3, 16, true},
                           {1, 6, 17, false},  {2, 7, 3, true},     {5, 31, 20, true},
                           {2, 48, 33, false}, {19, 65, 16, true},  {3, 100, 8, true},
                           {2, 512, 4, true},  {1, 1025, 2, false}, {2, 3000, 2, true}};

TEST(LongConvolutionTest, TilesEqualTheGenericFormOnEveryPath) {
  for (const KernelPath path : AvailableKernelPaths()) {
    if (path == KernelPath::kGeneric) continue;
    const ScopedKernelPath forced(path);
    for (const LongCase& c : kCases) {
      const auto tiled = RunForm(internal::LongConvolutionTiled, c, at::kFloat);
      const auto exact = RunForm(internal::LongConvolutionGeneric, c, at::kDouble);
      ASSERT_EQ(tiled.size(), exact.size());
      for (size_t i = 0; i < exact.size(); ++i) {
        ASSERT_EQ(tiled[i].sizes(), exact[i].sizes());
        EXPECT_LT(Worst(tiled[i], exact[i]), 3e-6 * (1 + exact[i].abs().max().item<double>()))
            << KernelPathName(path) << ": N = " << c.tokens << ", number " << i;
      }
    }
  }
}

TEST(LongConvolutionTest, ThreadsDoNotChangeABit) {
  const LongCase c = {7, 200, 40, true};
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = RunForm(internal::LongConvolutionTiled, c, at::kFloat);
  at::set_num_threads(3);
  const auto three = RunForm(internal::LongConvolutionTiled, c, at::kFloat);
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], three[i])) << i;
}

TEST(LongConvolutionTest, ReadsAnyStrides) {
  const at::Tensor x = Sines({2, 18, 9}, 0.4).to(at::kFloat),
                   k = Sines({18, 9}, 0.2).to(at::kFloat);
  const at::Tensor far = Sines({18, 9}, 0.7).to(at::kFloat);
  const at::Tensor dense =
      LongConvolution(x.transpose(1, 2).contiguous(), k.narrow(0, 0, 18).contiguous(), {}).clone();
  EXPECT_TRUE(at::equal(dense, LongConvolution(x.transpose(1, 2), k, {})));
  const at::Tensor turned = LongConvolution(x, k.t(), far.t());
  EXPECT_TRUE(at::equal(turned, LongConvolution(x, k.t().contiguous(), far.t().contiguous())));
}

// A token's output does not depend on what stands after it, to the last digits of the largest
// value: the halves of a transform must not wrap around.
TEST(LongConvolutionTest, PastKernelsDoNotSeeTheFuture) {
  for (const int64_t tokens : {1, 2, 3, 64, 65, 96}) {
    at::Tensor x = Sines({1, tokens, 2}, 0.4).to(at::kFloat);
    const at::Tensor past = Sines({2, tokens}, 0.9).to(at::kFloat);
    const at::Tensor before = LongConvolution(x, past, {});
    x.select(1, tokens - 1).add_(100);
    const at::Tensor after = LongConvolution(x, past, {});
    if (tokens > 1) {
      const int64_t earlier = tokens - 1;
      EXPECT_LT(Worst(before.narrow(1, 0, earlier), after.narrow(1, 0, earlier)), 3e-4) << tokens;
    }
    EXPECT_NEAR((after - before)[0][tokens - 1][0].item<double>(), 100 * past[0][0].item<double>(),
                3e-4);
  }
}

}  // namespace
}  // namespace lra
