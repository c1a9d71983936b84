#include "models/kernels/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/random.h"
#include "models/base/kernel_path.h"
#include "models/kernels/dropout_on_device.h"

namespace lra {
namespace {

DropoutKey MakeKey(std::vector<int64_t> ids, double probability = 0.1, bool is_tied = false) {
  DropoutKey key;
  key.probability = probability;
  key.seed = 7;
  key.step = 12345;
  key.site = 9;
  key.example_ids = at::tensor(ids, at::kLong);
  key.is_tied = is_tied;
  return key;
}

// Computes the mask element by element, from the definition in the header, with Philox from
// lra/random.h.
at::Tensor OracleMask(const DropoutKey& key, int64_t tokens, int64_t channels,
                      uint32_t block0 = 0) {
  const int64_t batch = key.example_ids.size(0);
  at::Tensor mask = at::zeros({batch, tokens, channels}, at::kFloat);
  auto values = mask.accessor<float, 3>();
  const double threshold = std::round(key.probability * 65536);
  for (int64_t b = 0; b < batch; ++b) {
    const uint32_t example = static_cast<uint32_t>(key.example_ids[b].item<int64_t>());
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto block = Philox({block0 + static_cast<uint32_t>(c / 8),
                                   key.is_tied ? 0u : static_cast<uint32_t>(t), example, key.step},
                                  {key.seed, key.site << 8 | 3u});
        const uint32_t bits = block[c % 8 / 2] >> (16 * (c % 2)) & 0xffff;
        if (bits >= threshold)
          values[b][t][c] = static_cast<float>(65536.0 / (65536.0 - threshold));
      }
    }
  }
  return mask;
}

TEST(DropoutTest, EveryInstructionSetEqualsTheDefinition) {
  for (const KernelPath path : AvailableKernelPaths()) {
    ScopedKernelPath use(path);
    for (const int64_t channels : {1, 7, 8, 24, 64, 65, 128}) {
      const DropoutKey key = MakeKey({3, 0, int64_t{1} << 33 | 5}, 0.3);
      EXPECT_TRUE(at::equal(DropoutMask(key, 11, channels), OracleMask(key, 11, channels)))
          << KernelPathName(path) << " C=" << channels;
    }
  }
}

TEST(DropoutTest, OneDrawingForTwoTensorsIsTheSameMask) {
  const at::Tensor ids = at::tensor(std::vector<int64_t>{7, 3}, at::kLong);
  for (const KernelPath path : AvailableKernelPaths()) {
    ScopedKernelPath use(path);
    for (const int64_t channels : {128, 40, 13}) {
      for (const double probability : {0.0, 0.3}) {
        const DropoutRows mask({probability, 5, 6, 7, ids}, 11);
        const at::Tensor x = at::randn({2 * 11 - 4, channels}), y = at::randn(x.sizes());
        at::Tensor expected_x = at::empty_like(x), expected_y = at::empty_like(y);
        const auto apply = [&](const at::Tensor& from, at::Tensor* to) {
          ApplyDropoutRows(mask, 4, x.size(0), channels, from.const_data_ptr<float>(), nullptr,
                           to->mutable_data_ptr<float>());
        };
        apply(x, &expected_x);
        apply(y, &expected_y);
        at::Tensor both_x = x.clone(), both_y = y.clone();
        ApplyDropoutRowsToBoth(mask, 4, x.size(0), channels, both_x.mutable_data_ptr<float>(),
                               both_y.mutable_data_ptr<float>());
        EXPECT_TRUE(at::equal(both_x, expected_x)) << channels << " channels";
        EXPECT_TRUE(at::equal(both_y, expected_y)) << channels << " channels";
      }
    }
  }
}

TEST(DropoutTest, WeightMaskEqualsTheDefinition) {
  const DropoutKey key = MakeKey({4, 8});
  const at::Tensor mask = WeightDropoutMask(key, 3, 5, 21);
  for (int64_t head = 0; head < 3; ++head) {
    EXPECT_TRUE(
        at::equal(mask.select(1, head), OracleMask(key, 5, 21, static_cast<uint32_t>(head) << 18)));
  }
}

TEST(DropoutTest, MaskDoesNotDependOnPaddingBatchOrThreads) {
  const at::Tensor together = DropoutMask(MakeKey({5, 6, 7}), 900, 64);
  const at::Tensor alone = DropoutMask(MakeKey({6}), 400, 64);
  EXPECT_TRUE(at::equal(together[1].slice(0, 0, 400), alone[0]));
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  EXPECT_TRUE(at::equal(DropoutMask(MakeKey({5, 6, 7}), 900, 64), together));
  at::set_num_threads(threads);
}

TEST(DropoutTest, ATiedMaskIsTheFirstTokensForAllTokens) {
  for (const KernelPath path : AvailableKernelPaths()) {
    ScopedKernelPath use(path);
    for (const int64_t channels : {1, 24, 65}) {
      const at::Tensor tied = DropoutMask(MakeKey({3, 8}, 0.3, true), 40, channels);
      const at::Tensor first = OracleMask(MakeKey({3, 8}, 0.3), 1, channels);
      EXPECT_TRUE(at::equal(tied, OracleMask(MakeKey({3, 8}, 0.3, true), 40, channels)));
      EXPECT_TRUE(at::equal(tied, first.expand({2, 40, channels}))) << KernelPathName(path);
    }
  }
  const double zeros =
      (DropoutMask(MakeKey({5}, 0.1, true), 1, 100000) == 0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(zeros, 0.1, 5 * std::sqrt(0.09 / 100000));
}

TEST(DropoutTest, EveryPartOfTheKeyMatters) {
  const at::Tensor mask = DropoutMask(MakeKey({5}), 64, 64);
  const auto agreement = [&](const DropoutKey& other) {
    return (DropoutMask(other, 64, 64) == mask).to(at::kDouble).mean().item<double>();
  };
  DropoutKey seed = MakeKey({5}), step = MakeKey({5}), site = MakeKey({5});
  seed.seed = 8;
  step.step = 12346;
  site.site = 10;
  // Independent masks agree with probability .9^2 + .1^2 = .82. Over 4096 elements, the standard
  // deviation is .006.
  for (const DropoutKey& other : {seed, step, site, MakeKey({6})}) {
    EXPECT_NEAR(agreement(other), 0.82, 0.03);
  }
}

TEST(DropoutTest, RateAndMean) {
  const at::Tensor mask = DropoutMask(MakeKey({0, 1, 2, 3}), 1000, 64);
  const double zeros = (mask == 0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(zeros, 0.1, 5 * std::sqrt(0.09 / 256000));
  EXPECT_NEAR(mask.mean().item<double>(), 1.0, 0.005);
}

TEST(DropoutTest, ValuesAndGradientsEqualTheMaskedComposition) {
  for (const auto& [type, is_tied] : {std::pair{at::kFloat, false},
                                      {at::kDouble, false},
                                      {at::kFloat, true},
                                      {at::kDouble, true}}) {
    const DropoutKey key = MakeKey({1, 2}, 0.25, is_tied);
    at::Tensor x = at::randn({2, 13, 24}, type).requires_grad_(true);
    at::Tensor residual = at::randn({2, 13, 24}, type).requires_grad_(true);
    const at::Tensor mask = OracleMask(key, 13, 24).to(type);
    const at::Tensor weight = at::randn({2, 13, 24}, type);
    (DropoutAdd(x, residual, key) * weight).sum().backward();
    EXPECT_TRUE(at::equal(DropoutAdd(x, residual, key), residual + mask * x));
    EXPECT_TRUE(at::equal(x.grad(), mask * weight));
    EXPECT_TRUE(at::equal(residual.grad(), weight));
    EXPECT_TRUE(at::equal(Dropout(x, key), mask * x));
  }
}

TEST(DropoutTest, ProbabilityZeroIsTheIdentity) {
  const at::Tensor x = at::randn({2, 3, 8});
  EXPECT_TRUE(Dropout(x, DropoutKey{}).is_same(x));
  EXPECT_TRUE(at::equal(DropoutAdd(x, x, DropoutKey{}), x + x));
}

// What a device draws by LibTorch's operators; here on the host.
TEST(DropoutTest, MasksOfDevicesAreTheHosts) {
  for (const bool is_tied : {false, true}) {
    const DropoutKey key =
        MakeKey({3, 0, int64_t{1} << 33 | 5, (int64_t{1} << 32) - 1}, 0.3, is_tied);
    for (const int64_t channels : {1, 7, 8, 65}) {
      const at::Tensor kept = internal::KeptChannels(key, 11, channels, at::kCPU);
      EXPECT_TRUE(at::equal(internal::ScaledMask(kept, key, at::kFloat).expand({4, 11, channels}),
                            DropoutMask(key, 11, channels)))
          << "C=" << channels;
    }
  }
  const DropoutKey key = MakeKey({3, 0, int64_t{1} << 33 | 5}, 0.3);
  const at::Tensor weights = internal::KeptWeights(key, 5, 3, 9, 16, 21, at::kCPU);
  EXPECT_TRUE(at::equal(internal::ScaledMask(weights, key, at::kFloat),
                        WeightDropoutBlock(key, 5, 3, 9, 16, 21)));
}

}  // namespace
}  // namespace lra
