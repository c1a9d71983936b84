// What CUDA threads make of filters for each channel, thread by thread on the host, against the
// form of ATen.
#include "models/kernels/channel_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/base/near_test_util.h"
#include "models/kernels/channel_convolution.h"
#include "models/kernels/cuda_kernels.h"

namespace lra {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const float* In(const at::Tensor& t) { return t.const_data_ptr<float>(); }

at::Tensor Convolve(const at::Tensor& x, const at::Tensor& filters, int64_t before,
                    bool is_reversed) {
  const at::Tensor y = at::full_like(x, kNan);
  const auto rows = static_cast<uint32_t>(x.size(0) * x.size(1));
  const ChannelPlan plan = {In(x),
                            In(filters),
                            y.mutable_data_ptr<float>(),
                            rows,
                            static_cast<uint32_t>(x.size(1)),
                            static_cast<uint32_t>(x.size(2)),
                            static_cast<uint32_t>(filters.size(0)),
                            static_cast<uint32_t>(before),
                            is_reversed};
  for (uint32_t row = 0; row < plan.rows; ++row) {
    for (uint32_t channel = 0; channel < plan.width; ++channel) ConvolveElement(plan, row, channel);
  }
  return y;
}

at::Tensor GradientOfFilters(const at::Tensor& x, const at::Tensor& upstream, int64_t taps,
                             int64_t before) {
  const int64_t rows = x.size(0) * x.size(1), blocks = FilterBlocks(rows);
  const at::Tensor partials = at::full({blocks, taps, x.size(2)}, kNan);
  const FilterGradientPlan plan = {In(x),
                                   In(upstream),
                                   partials.mutable_data_ptr<float>(),
                                   static_cast<uint32_t>(rows),
                                   static_cast<uint32_t>(x.size(1)),
                                   static_cast<uint32_t>(x.size(2)),
                                   static_cast<uint32_t>(taps),
                                   static_cast<uint32_t>(before),
                                   static_cast<uint32_t>(blocks)};
  for (uint32_t block = 0; block < plan.blocks; ++block) {
    for (uint32_t channel = 0; channel < plan.width; ++channel) {
      std::vector<float> shared(kChannelRows * kMostChannelTaps * kChannelLanes, kNan);
      for (uint32_t share = 0; share < kChannelRows; ++share) {
        float sums[kMostChannelTaps] = {};
        AddFilterGradient(plan, block, share, channel, sums);
        for (int tap = 0; tap < kMostChannelTaps; ++tap)
          shared[(share * kMostChannelTaps + tap) * kChannelLanes + channel % kChannelLanes] =
              sums[tap];
      }
      for (uint32_t tap = 0; tap < plan.taps; ++tap)
        StoreFilterPartial(plan, block, tap, channel, shared.data());
    }
  }
  return partials.sum(0);
}

struct ChannelCase {
  int64_t examples, tokens, width, taps, after;
};

// Examples shorter than the filter, channels that fill no block, more rows than all blocks take at
// once.
TEST(ChannelRowsTest, AreTheFormOfAten) {
  for (const ChannelCase& c :
       {ChannelCase{2, 9, 3, 4, 0}, ChannelCase{3, 2, 33, 7, 3}, ChannelCase{1, 5, 64, 1, 0},
        ChannelCase{2, 40, 40, kMostChannelTaps, 7}, ChannelCase{3, 1500, 5, 3, 1}}) {
    SCOPED_TRACE(absl::StrCat(c.tokens, " tokens, ", c.width, " channels, ", c.taps, " taps"));
    at::manual_seed(4);
    const at::Tensor x = at::randn({c.examples, c.tokens, c.width}), upstream = at::randn_like(x),
                     filters = at::randn({c.taps, c.width});
    const auto leaf = [](const at::Tensor& t) { return t.to(at::kDouble).requires_grad_(); };
    const at::Tensor a = leaf(x), f = leaf(filters);
    const at::Tensor y = internal::ChannelConvolutionGeneric(a, f, c.after);
    y.backward(upstream.to(at::kDouble));
    const int64_t before = c.taps - 1 - c.after;
    ExpectNear(Convolve(x, filters, before, false), y.detach(), 5e-6, "y");
    ExpectNear(Convolve(upstream, filters, c.after, true), a.grad(), 5e-6, "dx");
    ExpectNear(GradientOfFilters(x, upstream, c.taps, before), f.grad(), 5e-6,
               "gradient of filters");
  }
}

TEST(ChannelRowsTest, TheHostHasNoUseForTheKernels) {
  EXPECT_FALSE(HasChannelsOnCuda(at::randn({1, 2, 3}), at::randn({2, 3})));
}

}  // namespace
}  // namespace lra
