#include "models/kernels/dispatch.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "models/base/runtime.h"
#include "models/kernels/dropout.h"
#include "models/kernels/linear_attention.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

using testing::HasSubstr;

constexpr KernelPath kGeneric = KernelPath::kGeneric;

class DispatchTest : public testing::Test {
 protected:
  // The best path, whatever the environment of the test says.
  const ScopedKernelPath best_{AvailableKernelPaths().back()};
  const KernelPath tiles_ = AvailableKernelPaths().back();
  const KernelNeeds needs_{};
  const at::Tensor x_ = at::ones({2, 3, 4});
};

TEST_F(DispatchTest, EveryPathThatIsForcedIsTaken) {
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    EXPECT_EQ(DispatchKernel(needs_, {x_, x_}), path) << KernelPathName(path);
  }
}

TEST_F(DispatchTest, OtherTypesThanThoseOfTheTilesAreGeneric) {
  const at::Tensor wide = x_.to(at::kDouble), half = x_.to(at::kBFloat16);
  EXPECT_EQ(DispatchKernel(needs_, {wide}), kGeneric);
  EXPECT_EQ(DispatchKernel(needs_, {half}), kGeneric);
  EXPECT_EQ(DispatchKernel(needs_, {x_, wide}), kGeneric);
  constexpr KernelNeeds kBoth = {.types = kFloat32And64Tiles};
  EXPECT_EQ(DispatchKernel(kBoth, {wide, wide}), tiles_);
  EXPECT_EQ(DispatchKernel(kBoth, {x_}), tiles_);
  EXPECT_EQ(DispatchKernel(kBoth, {x_, wide}), kGeneric);
}

TEST_F(DispatchTest, OtherDevicesAndLayoutsAreGeneric) {
  const at::Tensor elsewhere = x_.to(at::kMeta), sparse = x_.to_sparse();
  EXPECT_EQ(DispatchKernel(needs_, {elsewhere}), kGeneric);
  EXPECT_EQ(DispatchKernel(needs_, {x_, elsewhere}), kGeneric);
  EXPECT_EQ(DispatchKernel(needs_, {sparse}), kGeneric);
}

TEST_F(DispatchTest, EmptyTensorsAreGenericAndUndefinedOnesDoNotCount) {
  const at::Tensor empty = at::ones({2, 0, 4}), undefined;
  EXPECT_EQ(DispatchKernel(needs_, {empty}), kGeneric);
  EXPECT_EQ(DispatchKernel(needs_, {x_, undefined}), tiles_);
}

TEST_F(DispatchTest, StridesMatterToKernelsThatWriteInPlace) {
  const at::Tensor turned = x_.transpose(1, 2);
  EXPECT_EQ(DispatchKernel(needs_, {turned}), tiles_);
  constexpr KernelNeeds kDense = {.is_contiguous = true};
  EXPECT_EQ(DispatchKernel(kDense, {turned}), kGeneric);
  EXPECT_EQ(DispatchKernel(kDense, {x_}), tiles_);
}

TEST_F(DispatchTest, AutocastMattersToKernelsWithMatrixProducts) {
  constexpr KernelNeeds kFollowing = {.follows_autocast = true};
  EXPECT_EQ(DispatchKernel(kFollowing, {x_}), tiles_);
  {
    const AutocastScope autocast(true, at::kCPU);
    EXPECT_EQ(DispatchKernel(kFollowing, {x_}), kGeneric);
    EXPECT_EQ(DispatchKernel(needs_, {x_}), tiles_);
  }
  const PrecisionScope bfloat16(true, at::kCPU);
  EXPECT_EQ(DispatchKernel(kFollowing, {x_}), HasBfloat16Products() ? tiles_ : kGeneric);
}

TEST_F(DispatchTest, RowsHaveBounds) {
  constexpr KernelNeeds kBounded = {.fewest_rows = 8, .most_rows = 256};
  EXPECT_EQ(DispatchKernel(kBounded, {x_}, 7), kGeneric);
  EXPECT_EQ(DispatchKernel(kBounded, {x_}, 8), tiles_);
  EXPECT_EQ(DispatchKernel(kBounded, {x_}, 256), tiles_);
  EXPECT_EQ(DispatchKernel(kBounded, {x_}, 257), kGeneric);
}

// Each path keeps other numbers for the backward: a path that changes in between must not mix them.
TEST_F(DispatchTest, TheBackwardTakesThePathOfItsForward) {
  at::manual_seed(5);
  const at::Tensor q = at::randn({1, 2, 40, 8}), k = at::randn({1, 2, 40, 8}),
                   v = at::randn({1, 2, 40, 8}), upstream = at::randn({1, 2, 40, 8});
  const auto gradient = [&](bool is_linear, KernelPath forward, KernelPath backward) {
    const at::Tensor leaf = q.clone().set_requires_grad(true);
    at::Tensor output;
    {
      const ScopedKernelPath use(forward);
      output = is_linear ? LinearAttention(leaf, k, v, at::Tensor(), LinearAttentionSpec())
                         : SoftmaxAttention(leaf, k, v, at::Tensor(), DropoutKey());
    }
    const ScopedKernelPath use(backward);
    output.backward(upstream);
    return leaf.grad();
  };
  for (const bool is_linear : {false, true}) {
    for (const KernelPath forward : {kGeneric, tiles_}) {
      const KernelPath other = forward == kGeneric ? tiles_ : kGeneric;
      EXPECT_TRUE(at::allclose(gradient(is_linear, forward, other),
                               gradient(is_linear, forward, forward), 1e-4, 1e-5))
          << is_linear << KernelPathName(forward);
    }
  }
}

// Masks are keyed: the generic path applies the bits that the tiles draw.
TEST_F(DispatchTest, DropoutHasTheSameMaskOnEveryPath) {
  const DropoutKey key = {0.3, 1, 2, 3, at::tensor(std::vector<int64_t>{7, 9}, at::kLong)};
  const at::Tensor x = at::randn({2, 5, 24}), expected = Dropout(x, key);
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    EXPECT_TRUE(at::equal(Dropout(x, key), expected)) << KernelPathName(path);
    EXPECT_TRUE(at::equal(Dropout(x.to(at::kDouble), key).eq(0), expected.eq(0)));
  }
}

class ForceKernelPathTest : public testing::Test {
 protected:
  ForceKernelPathTest() { Forget(); }
  ~ForceKernelPathTest() override { Forget(); }

 private:
  static void Forget() {
    for (const char* variable :
         {"LRA_KERNELS", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA"})
      unsetenv(variable);
  }
  const ScopedKernelPath restore_{ActiveKernelPath()};
};

TEST_F(ForceKernelPathTest, TakesTheNameThenTheEnvironmentThenTheBest) {
  setenv("LRA_KERNELS", "baseline", 1);
  ASSERT_TRUE(ForceKernelPath("generic").ok());
  EXPECT_EQ(ActiveKernelPath(), kGeneric);
  ASSERT_TRUE(ForceKernelPath("").ok());
  EXPECT_EQ(ActiveKernelPath(), KernelPath::kBaseline);
  unsetenv("LRA_KERNELS");
  ASSERT_TRUE(ForceKernelPath("").ok());
  EXPECT_EQ(ActiveKernelPath(), AvailableKernelPaths().back());
}

TEST_F(ForceKernelPathTest, AsksTheLibrariesUnlessTheUserDid) {
  ASSERT_TRUE(ForceKernelPath("").ok());
  ASSERT_TRUE(ForceKernelPath("generic").ok());
  EXPECT_EQ(getenv("ATEN_CPU_CAPABILITY"), nullptr);
  setenv("MKL_ENABLE_INSTRUCTIONS", "AVX", 1);
  ASSERT_TRUE(ForceKernelPath("baseline").ok());
  EXPECT_STREQ(getenv("ATEN_CPU_CAPABILITY"), "default");
  EXPECT_STREQ(getenv("MKL_ENABLE_INSTRUCTIONS"), "AVX");
}

TEST_F(ForceKernelPathTest, OneDnnLeavesAmxWhereItsPathIsNotTaken) {
  if (AvailableKernelPaths().back() != KernelPath::kAmx) GTEST_SKIP() << "this machine has no AMX";
  ASSERT_TRUE(ForceKernelPath("").ok());
  EXPECT_EQ(getenv("ONEDNN_MAX_CPU_ISA"), nullptr);
  ASSERT_TRUE(ForceKernelPath("avx512").ok());
  EXPECT_STREQ(getenv("ONEDNN_MAX_CPU_ISA"), "AVX512_CORE_BF16");
}

TEST_F(ForceKernelPathTest, RefusesUnknownNamesAndChangesNothing) {
  ASSERT_TRUE(ForceKernelPath("generic").ok());
  EXPECT_THAT(
      std::string(ForceKernelPath("AVX2").message()),
      HasSubstr("--kernels: is \"AVX2\", must be one of generic, baseline, avx2, avx512, amx"));
  setenv("LRA_KERNELS", "sse", 1);
  const absl::Status status = ForceKernelPath("");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("$LRA_KERNELS: is \"sse\""));
  EXPECT_EQ(ActiveKernelPath(), kGeneric);
}

TEST_F(ForceKernelPathTest, RefusesWhatTheMachineLacks) {
  const auto path =
      internal::ParseKernelPath("avx512", "--kernels", {kGeneric, KernelPath::kBaseline});
  EXPECT_EQ(path.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(path.status().message(),
            "--kernels: this machine lacks the instructions of \"avx512\"; it can run generic, "
            "baseline");
}

}  // namespace
}  // namespace lra
