#include "models/kernels/token_embedding.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/base/kernel_path.h"

namespace lra {
namespace {

constexpr int64_t kRows = 300, kUsedRows = 290, kTexts = 3, kTextTokens = 700;

// Gradients of very different sizes: another order of additions has other bits.
at::Tensor Upstream(int64_t width) {
  const at::Tensor size = (at::randn({kTexts, kTextTokens, 1}) * 4).exp();
  return at::randn({kTexts, kTextTokens, width}) * size;
}

// Ids with repeats, padding and absent rows, ids of one kind, and ids that are all padding.
std::vector<std::pair<std::string, at::Tensor>> Ids() {
  return {{"few", at::randint(3, {kTexts, kTextTokens}, at::kInt)},
          {"many", at::randint(kUsedRows, {kTexts, kTextTokens}, at::kInt)},
          {"int64", at::randint(kUsedRows, {kTexts, kTextTokens}, at::kLong)},
          {"one", at::full({kTexts, kTextTokens}, 17, at::kInt)},
          {"padding", at::full({kTexts, kTextTokens}, 0, at::kInt)}};
}

void ExpectSameBits(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  EXPECT_TRUE(actual.view(at::kInt).equal(expected.view(at::kInt))) << what;
}

// One channel and few are the work of one thread; seven threads share out ids, too.
TEST(TokenEmbeddingTest, TheTablesGradientHasLibTorchsBits) {
  at::manual_seed(8);
  const int before = at::get_num_threads();
  for (const int64_t width : {1, 7, 16, 24, 64, 200}) {
    const at::Tensor upstream = Upstream(width);
    for (const auto& [name, ids] : Ids()) {
      for (const int64_t padding_id : {-1, 0}) {
        const at::Tensor expected =
            at::embedding_dense_backward(upstream, ids, kRows, padding_id, false);
        for (const KernelPath path : AvailableKernelPaths()) {
          const ScopedKernelPath use(path);
          for (const int threads : {1, 2, 3, 7}) {
            at::set_num_threads(threads);
            ExpectSameBits(internal::TableGradient(upstream, ids, kRows, padding_id), expected,
                           absl::StrCat(name, ", width ", width, ", padding ", padding_id, ", ",
                                        KernelPathName(path), ", ", threads, " threads"));
          }
        }
      }
    }
  }
  at::set_num_threads(before);
}

TEST(TokenEmbeddingTest, AbsentIdsAndPaddingGetZeros) {
  at::manual_seed(9);
  const at::Tensor ids = at::randint(kUsedRows, {kTexts, kTextTokens}, at::kInt);
  const at::Tensor gradient = internal::TableGradient(Upstream(64), ids, kRows, 0);
  EXPECT_EQ(gradient.narrow(0, kUsedRows, kRows - kUsedRows).abs().max().item<float>(), 0);
  EXPECT_EQ(gradient[0].abs().max().item<float>(), 0);
  EXPECT_GT(gradient[1].abs().max().item<float>(), 0);
}

// Where positions stand beside the tokens, the gradient is not contiguous.
TEST(TokenEmbeddingTest, EveryPathEqualsLibTorch) {
  at::manual_seed(10);
  const at::Tensor table = at::randn({kRows, 24}).set_requires_grad(true);
  const at::Tensor ids = at::randint(kUsedRows, {kTexts, kTextTokens}, at::kInt);
  for (const at::Tensor& upstream : {Upstream(24), Upstream(48).narrow(2, 0, 24)}) {
    const at::Tensor y = at::embedding(table, ids, 0);
    y.backward(upstream);
    const at::Tensor expected = table.grad().clone();
    for (const KernelPath path : AvailableKernelPaths()) {
      const ScopedKernelPath use(path);
      table.mutable_grad() = at::Tensor();
      const at::Tensor own = EmbedTokens(table, ids, 0);
      EXPECT_EQ(own.grad_fn()->name() == y.grad_fn()->name(), path == KernelPath::kGeneric);
      ExpectSameBits(own.detach(), y.detach(), KernelPathName(path));
      own.backward(upstream);
      ExpectSameBits(table.grad(), expected, KernelPathName(path));
    }
    table.mutable_grad() = at::Tensor();
  }
}

TEST(TokenEmbeddingTest, NothingIsKeptWithoutGradients) {
  const at::Tensor table = at::randn({kRows, 24}).set_requires_grad(true);
  const at::Tensor ids = at::full({kTexts, kTextTokens}, 17, at::kInt);
  EXPECT_TRUE(EmbedTokens(table, ids, -1).requires_grad());
  EXPECT_FALSE(EmbedTokens(table.detach(), ids, -1).requires_grad());
  const c10::NoGradGuard no_gradient;
  EXPECT_FALSE(EmbedTokens(table, ids, -1).requires_grad());
}

TEST(TokenEmbeddingTest, IdsOutsideTheTableAreRefused) {
  const at::Tensor table = at::randn({kRows, 24}).set_requires_grad(true);
  EXPECT_ANY_THROW(EmbedTokens(table, at::full({1, 2}, kRows, at::kInt), -1));
}

}  // namespace
}  // namespace lra
