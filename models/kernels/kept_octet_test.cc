// What a CUDA thread draws, on the host, against the masks of the CPU's kernels.
#include "models/kernels/kept_octet.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "lra/random.h"
#include "models/kernels/cuda_kernels.h"
#include "models/kernels/dropout.h"

namespace lra {
namespace {

DropoutKey MakeKey(bool is_tied) {
  DropoutKey key;
  key.probability = 0.3;
  key.seed = 0xF0000007;
  key.step = 12345;
  key.site = 9;
  key.example_ids = at::tensor({int64_t{3}, int64_t{0}, int64_t{1} << 33 | 0xFFFFFFF5}, at::kLong);
  key.is_tied = is_tied;
  return key;
}

KeptPlan PlanOf(const DropoutKey& key, int64_t heads, int64_t rows, int64_t columns) {
  return {.example_ids = key.example_ids.const_data_ptr<int64_t>(),
          .examples = key.example_ids.size(0),
          .heads = heads,
          .rows = rows,
          .columns = columns,
          .first_row = 0,
          .first_block = 0,
          .seed = key.seed,
          .site_word = key.site << 8 | static_cast<uint32_t>(RandomDomain::kDropout),
          .step = key.step,
          .threshold = key.Threshold(),
          .step_at = nullptr};
}

at::Tensor Draw(const KeptPlan& plan) {
  at::Tensor mask = at::empty({plan.examples, plan.heads, plan.rows, plan.columns}, at::kBool);
  for (int64_t octet = 0; octet < Octets(plan); ++octet)
    DrawKeptOctet(plan, octet, mask.mutable_data_ptr<bool>());
  return mask;
}

TEST(KeptOctetTest, DrawsTheMasksOfChannels) {
  for (const int64_t channels : {1, 7, 8, 24, 65}) {
    const DropoutKey key = MakeKey(false);
    EXPECT_TRUE(at::equal(Draw(PlanOf(key, 1, 11, channels)).squeeze(1),
                          DropoutMask(key, 11, channels) > 0))
        << channels;
    const DropoutKey tied = MakeKey(true);
    EXPECT_TRUE(at::equal(Draw(PlanOf(tied, 1, 1, channels)).squeeze(1).expand({3, 11, channels}),
                          DropoutMask(tied, 11, channels) > 0))
        << channels;
  }
}

TEST(KeptOctetTest, DrawsTheMasksOfWeights) {
  const DropoutKey key = MakeKey(false);
  KeptPlan plan = PlanOf(key, 4, 5, 21);
  plan.first_row = 6;
  plan.first_block = 2;
  EXPECT_TRUE(at::equal(Draw(plan), WeightDropoutBlock(key, 4, 6, 5, 16, 21) > 0));
}

// A graph that was captured at another step draws the masks of the step that lies in memory.
TEST(KeptOctetTest, ReadsTheStepWhereTheMaskIsDrawn) {
  DropoutKey key = MakeKey(false);
  KeptPlan plan = PlanOf(key, 1, 11, 24);
  const at::Tensor step = at::tensor({int64_t{12346}}, at::kLong);
  plan.step_at = step.const_data_ptr<int64_t>();
  key.step = 12346;
  EXPECT_TRUE(at::equal(Draw(plan).squeeze(1), DropoutMask(key, 11, 24) > 0));
}

TEST(KeptOctetTest, TheHostHasNoUseForTheKernel) {
  const DropoutKey key = MakeKey(false);
  EXPECT_FALSE(DrawKeptOnCuda(PlanOf(key, 1, 2, 8), key.example_ids, {}).defined());
}

}  // namespace
}  // namespace lra
