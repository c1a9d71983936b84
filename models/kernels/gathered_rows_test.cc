#include "models/kernels/gathered_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "models/base/fake_device.h"

namespace lra {
namespace {

// 2 examples, 3 heads, 5 tokens; the value of every element tells where it is from.
at::Tensor Numbers(at::ScalarType type) {
  return at::arange(2 * 3 * 5 * 2).view({2, 3, 5, 2}).to(type);
}

// Groups 5, 6, 7 of 6 (example, head) pairs belong to the last head, then to the first two.
const int64_t kFirst = 5;
at::Tensor Positions() {
  return at::tensor(std::vector<int64_t>{4, -1, 0, 2, 2, 1}, at::kLong).view({3, 2});
}

TEST(GatheredRowsTest, GathersByGroupAndPosition) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor x = Numbers(type);
    const at::Tensor rows = GatherRows(x, Positions(), kFirst);
    const at::Tensor zero = at::zeros_like(x[0][0][0]);
    const at::Tensor expected =
        at::stack({x[1][2][4], zero, x[0][0][0], x[0][0][2], x[0][1][2], x[0][1][1]})
            .view({3, 2, 2});
    EXPECT_TRUE(rows.equal(expected)) << type;
    // Any layout is allowed, such as that of the heads of a projection.
    const at::Tensor strided = x.transpose(1, 2).contiguous().transpose(1, 2);
    EXPECT_TRUE(GatherRows(strided, Positions(), kFirst).equal(expected)) << type;
  }
}

TEST(GatheredRowsTest, SetsAndAddsWhatItGathers) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor rows = at::arange(1, 13).view({3, 2, 2}).to(type);
    at::Tensor set = at::zeros_like(Numbers(type)), expected = set.clone();
    expected[1][2][4] = rows[0][0];
    expected[0][0][0] = rows[1][0];
    expected[0][0][2] = rows[1][1];
    expected[0][1][2] = rows[2][0];
    expected[0][1][1] = rows[2][1];
    SetRows(rows, Positions(), kFirst, &set);
    EXPECT_TRUE(set.equal(expected)) << type;
    at::Tensor twice = Positions();
    twice[1][1] = 0;  // both rows of the second group
    at::Tensor sum = at::ones_like(set);
    AddRows(rows, twice, kFirst, &sum);
    expected[0][0][0] += rows[1][1];
    expected[0][0][2] = 0;
    EXPECT_TRUE(sum.equal(expected + 1)) << type;
  }
}

TEST(GatheredRowsTest, WritesIntoAnyLayout) {
  const at::Tensor rows = at::arange(1, 13).view({3, 2, 2}).to(at::kFloat);
  const auto strided = [] { return at::ones({2, 5, 3, 2}).transpose(1, 2); };
  at::Tensor set = at::ones({2, 3, 5, 2}), sum = set.clone(), any_set = strided(),
             any_sum = strided();
  SetRows(rows, Positions(), kFirst, &set);
  SetRows(rows, Positions(), kFirst, &any_set);
  EXPECT_TRUE(any_set.equal(set));
  AddRows(rows, Positions(), kFirst, &sum);
  AddRows(rows, Positions(), kFirst, &any_sum);
  EXPECT_TRUE(any_sum.equal(sum));
}

TEST(GatheredRowsTest, ADeviceDoesWhatTheHostDoesWithoutWaiting) {
  const at::Device device = FakeDevice();
  const at::Tensor rows = at::arange(1, 13).view({3, 2, 2}).to(at::kFloat);
  at::Tensor set = at::ones({2, 3, 5, 2}), on_device = set.to(device);
  const at::Tensor there = rows.to(device), positions = Positions().to(device);
  DropoutKey key = {0.5, 7, 8, 9, at::tensor(std::vector<int64_t>{3, 4}, at::kLong)};
  key.ids_on_device = key.example_ids.to(device);
  TakeFakeDeviceWork();
  SetRows(there, positions, kFirst, &on_device);
  const at::Tensor mask = GatherWeightDropout(key, 3, positions, positions, kFirst);
  const FakeDeviceWork work = TakeFakeDeviceWork();
  EXPECT_TRUE(work.host_reads.empty() && work.uploads.empty());
  SetRows(rows, Positions(), kFirst, &set);
  EXPECT_TRUE(on_device.cpu().equal(set));
  EXPECT_TRUE(mask.cpu().equal(GatherWeightDropout(key, 3, Positions(), Positions(), kFirst)));
}

TEST(GatheredRowsTest, WeightDropoutIsThatOfTheDenseMask) {
  const DropoutKey key = {0.3, 5, 7, 9, at::tensor(std::vector<int64_t>{3, 1000000007}, at::kLong)};
  const at::Tensor dense = WeightDropoutMask(key, 3, 40, 50);
  const at::Tensor queries =
      at::tensor(std::vector<int64_t>{39, -1, 7, 8, 0, 1}, at::kLong).view({3, 2});
  at::Tensor keys = at::arange(48, at::kLong).expand({3, 48}).clone();
  keys[1] = at::arange(48, at::kLong).flip(0) + 2;  // from 49 down
  keys[2][5] = -1;
  const at::Tensor mask = GatherWeightDropout(key, 3, queries, keys, kFirst);
  const std::pair<int64_t, int64_t> heads[] = {{1, 2}, {0, 0}, {0, 1}};
  for (int g = 0; g < 3; ++g) {
    for (int i = 0; i < 2; ++i) {
      const int64_t query = queries[g][i].item<int64_t>();
      at::Tensor expected = at::zeros({48});
      if (query >= 0) {
        expected =
            dense[heads[g].first][heads[g].second][query].index_select(0, keys[g].clamp_min(0));
        expected = expected.masked_fill(keys[g].lt(0), 0);
      }
      EXPECT_TRUE(mask[g][i].equal(expected)) << g << " " << i;
    }
  }
  EXPECT_GT(mask.eq(0).sum().item<int64_t>(), 50);
  EXPECT_GT(mask.gt(1).sum().item<int64_t>(), 100);
}

}  // namespace
}  // namespace lra
