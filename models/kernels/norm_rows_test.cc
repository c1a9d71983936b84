// What our CUDA kernels of layer norms compute, lane by lane on the host, against LibTorch's.
#include "models/kernels/norm_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/base/near_test_util.h"
#include "models/kernels/cuda_kernels.h"

namespace lra {
namespace {

constexpr double kEpsilon = 1e-5;

// A warp whose lanes are a loop.
struct HostWarp {
  using Lanes = std::array<float, kWarpLanes>;
  template <class Body>
  void ForLanes(Body body) const {
    for (int lane = 0; lane < kWarpLanes; ++lane) body(lane);
  }
  float& At(Lanes* lanes, int lane) const { return (*lanes)[lane]; }
  float Sum(Lanes lanes) const {
    for (int apart = kWarpLanes / 2; apart > 0; apart /= 2) {
      const Lanes before = lanes;
      for (int lane = 0; lane < kWarpLanes; ++lane) lanes[lane] += before[lane ^ apart];
    }
    return lanes[0];
  }
};

struct NormTensors {
  at::Tensor x, weight, bias, upstream;
};

NormTensors Draw(int64_t rows, int64_t width) {
  at::manual_seed(5);
  return {at::randn({rows, width}) * 3 + 2, at::randn({width}), at::randn({width}),
          at::randn({rows, width})};
}

struct Result {
  at::Tensor y, dx, dweight, dbias;
};

// What the kernels make of the rows, which warps of blocks take in turn.
Result ByWarps(const NormTensors& t) {
  const int64_t rows = t.x.size(0), width = t.x.size(1), blocks = NormBlocks(rows);
  const auto in = [](const at::Tensor& a) { return a.const_data_ptr<float>(); };
  const auto out = [](const at::Tensor& a) { return a.mutable_data_ptr<float>(); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor y = at::full_like(t.x, nan), dx = at::full_like(t.x, nan);
  const at::Tensor means = at::full({rows}, nan), scales = at::full({rows}, nan),
                   partials = at::full({blocks, 2, width}, nan);
  const NormRowsPlan plan = {in(t.x), in(t.weight), in(t.bias),
                             out(y),  out(means),   out(scales),
                             rows,    width,        static_cast<float>(kEpsilon)};
  constexpr int64_t kWarps = 5;
  for (int64_t warp = 0; warp < kWarps; ++warp) NormRowsOfWarp(HostWarp(), plan, warp, kWarps);
  const NormRowsBackwardPlan back = {in(t.x), in(t.upstream), in(t.weight), in(means), in(scales),
                                     out(dx), out(partials),  rows,         width,     blocks};
  for (int64_t block = 0; block < blocks; ++block) {
    std::vector<float> sums(kNormWarps * 2 * width, 0.0f);
    for (int warp = 0; warp < kNormWarps; ++warp)
      NormRowsBackwardOfWarp(HostWarp(), back, block, warp, sums.data());
    for (int64_t column = 0; column < 2 * width; ++column)
      StorePartial(back, block, column, sums.data());
  }
  const at::Tensor sums = partials.sum(0);
  return {y, dx, sums[0], sums[1]};
}

Result ByLibTorch(const NormTensors& t) {
  const auto leaf = [](const at::Tensor& a) { return a.to(at::kDouble).clone().requires_grad_(); };
  const at::Tensor x = leaf(t.x), weight = leaf(t.weight), bias = leaf(t.bias);
  const at::Tensor y = at::layer_norm(x, {x.size(1)}, weight, bias, kEpsilon);
  y.backward(t.upstream.to(at::kDouble));
  return {y.detach(), x.grad(), weight.grad(), bias.grad()};
}

// Widths below, at and beyond a warp; rows fewer than a block's and more than all blocks take at
// once.
TEST(NormRowsTest, IsTheNormOfLibTorch) {
  const std::array<std::array<int64_t, 2>, 7> shapes = {{{1, 64},
                                                         {3, 1},
                                                         {9, 31},
                                                         {20, 32},
                                                         {50, 100},
                                                         {40, kMostNormWidth},
                                                         {kMostNormBlocks * kNormWarps + 77, 8}}};
  for (const auto& [rows, width] : shapes) {
    SCOPED_TRACE(absl::StrCat(rows, " rows of ", width));
    const NormTensors t = Draw(rows, width);
    const Result found = ByWarps(t), expected = ByLibTorch(t);
    ExpectNear(found.y, expected.y, 5e-6, "y");
    ExpectNear(found.dx, expected.dx, 5e-6, "dx");
    ExpectNear(found.dweight, expected.dweight, 5e-6, "gradient of the weight");
    ExpectNear(found.dbias, expected.dbias, 5e-6, "gradient of the bias");
  }
}

TEST(NormRowsTest, ABlocksSumsFitIntoSharedMemory) {
  EXPECT_LE(sizeof(float) * kNormWarps * 2 * kMostNormWidth, 48 * 1024);
  EXPECT_EQ(NormBlocks(0), 1);
  EXPECT_EQ(NormBlocks(9), 2);
  EXPECT_EQ(NormBlocks(1'000'000), kMostNormBlocks);
}

TEST(NormRowsTest, TheHostHasNoUseForTheKernels) {
  const NormTensors t = Draw(2, 8);
  EXPECT_FALSE(HasNormOnCuda(t.x, t.weight, t.bias));
}

}  // namespace
}  // namespace lra
