#include "models/layers/token_filter.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <vector>

#include "models/base/kernel_path.h"

namespace lra {
namespace {

constexpr int64_t kFilterTokens = 23, kFilterWidth = 37;

at::Tensor InPieces(const at::Tensor& x, const at::Tensor& real, const at::Tensor& filters,
                    const std::vector<int64_t>& pieces) {
  at::Tensor window = EmptyWindow(filters, x.size(0), x.options());
  std::vector<at::Tensor> outputs;
  for (int64_t first = 0; const int64_t tokens : pieces) {
    const at::Tensor some = real.defined() ? real.narrow(1, first, tokens) : real;
    outputs.push_back(FilterPiece(x.narrow(1, first, tokens), some, filters, &window));
    EXPECT_EQ(window.size(1), filters.size(0) - 1);
    first += tokens;
  }
  return at::cat(outputs, 1);
}

// Zeros in front of a sequence add nothing to a sum, so not even a rounding differs.
TEST(TokenFilterTest, PiecesHaveTheBitsOfTheWhole) {
  const at::Tensor x = at::randn({2, kFilterTokens, kFilterWidth}),
                   real = at::rand({2, kFilterTokens}) > 0.3;
  const std::vector<int64_t> singles(kFilterTokens, 1), unlike = {4, 1, 9, 2, 7};
  for (const int64_t taps : {1, 2, 3, 7}) {
    const at::Tensor filters = at::randn({taps, kFilterWidth});
    for (const KernelPath path : AvailableKernelPaths()) {
      const ScopedKernelPath use(path);
      for (const at::Tensor& mask : {at::Tensor(), real}) {
        const at::Tensor whole = FilterTokens(x, mask, filters, /*is_causal=*/true);
        for (const std::vector<int64_t>& pieces : {singles, unlike}) {
          EXPECT_TRUE(at::equal(InPieces(x, mask, filters, pieces), whole))
              << taps << " taps, " << pieces.size() << " pieces, " << KernelPathName(path);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lra
