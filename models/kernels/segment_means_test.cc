#include "models/kernels/segment_means.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

struct MeansOutcome {
  at::Tensor means, gradient;
};

template <class Function>
MeansOutcome Run(const at::Tensor& x, const at::Tensor& upstream, at::ScalarType type,
                 Function means) {
  const at::Tensor leaf = x.to(type, false, true).set_requires_grad(true);
  const at::Tensor result = means(leaf);
  (result * upstream.to(type)).sum().backward();
  return {result.detach(), leaf.grad()};
}

void ExpectEqualsDefinition(int64_t tokens, int64_t segments, bool has_holes) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({3, tokens, 2, 5}, at::kDouble).transpose(1, 2);
  at::Tensor keep = at::ones({3, tokens}, at::kBool);
  if (has_holes) {
    keep = at::rand({3, tokens}) > 0.3;
    keep[1].slice(0, tokens - 4).fill_(false);
  }
  const at::Tensor upstream = at::randn({3, 2, segments, 5}, at::kDouble);
  // Each token by itself.
  const auto definition = [&](const at::Tensor& t) {
    at::Tensor sums = at::zeros({3, 2, segments, 5}, at::kDouble);
    at::Tensor counts = at::zeros({3, 1, segments, 1}, at::kDouble);
    for (int64_t b = 0; b < 3; ++b) {
      const int64_t all = keep[b].sum().item<int64_t>();
      for (int64_t n = 0, before = 0; n < tokens; ++n) {
        if (!keep[b][n].item<bool>()) continue;
        const int64_t s = before++ * segments / all;
        sums[b].select(1, s) += t[b].select(1, n);
        counts[b][0][s] += 1;
      }
    }
    return sums / counts;
  };
  const auto kernel = [&](const at::Tensor& t) { return SegmentMeans(t, keep, segments); };
  const MeansOutcome expected = Run(x, upstream, at::kDouble, definition);
  const auto compare = [&](at::ScalarType type, double tolerance) {
    const MeansOutcome actual = Run(x, upstream, type, kernel);
    EXPECT_LE((actual.means - expected.means).abs().max().item<double>(), tolerance);
    EXPECT_LE((actual.gradient - expected.gradient).abs().max().item<double>(), tolerance);
  };
  compare(at::kDouble, 1e-14);
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    SCOPED_TRACE(KernelPathName(path));
    compare(at::kFloat, 1e-6);
  }
}

TEST(SegmentMeansTest, EqualsTheDefinitionWithItsGradient) {
  ExpectEqualsDefinition(32, 8, false);
  ExpectEqualsDefinition(37, 7, false);
  ExpectEqualsDefinition(61, 9, true);
  ExpectEqualsDefinition(12, 12, false);
}

}  // namespace
}  // namespace lra
