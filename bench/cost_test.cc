#include "bench/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

BenchRequest Request(const std::string& attention, BenchRequest::Mode mode) {
  BenchRequest request;
  request.set_scope(BenchRequest::OPERATOR);
  request.set_mode(mode);
  request.set_attention(attention);
  request.set_tokens(1000);
  request.set_batch(2);
  request.set_heads(8);
  request.set_head_width(64);
  return request;
}

BenchMachine Machine() {
  BenchMachine machine;
  machine.set_gemm_operations_per_second(100e9);
  machine.set_gemm_bfloat16_operations_per_second(400e9);
  machine.set_copy_bytes_per_second(10e9);
  return machine;
}

TEST(OperatorCost, OfSoftmaxIsTwoSquareProducts) {
  // Q K^T and P V: 2 N^2 D operations each, 2 examples, 8 heads.
  const PassCost cost = OperatorCost(Request("transformer", BenchRequest::FORWARD), 3);
  EXPECT_DOUBLE_EQ(cost.operations, 4.0 * 1000 * 1000 * 64 * 2 * 8);
  // q, k, v and the output, 4 bytes each.
  EXPECT_DOUBLE_EQ(cost.moved_bytes, 4.0 * 4 * 2 * 1000 * 8 * 64);
}

TEST(OperatorCost, OfABackwardIsTwiceTheForward) {
  const PassCost cost = OperatorCost(Request("linear", BenchRequest::TRAINING), 3);
  EXPECT_DOUBLE_EQ(cost.operations, 3 * 4.0 * 1000 * 64 * 64 * 2 * 8);
  // Forward 4 tensors; backward q, k, v, the upstream gradient and three gradients.
  EXPECT_DOUBLE_EQ(cost.moved_bytes, 11.0 * 4 * 2 * 1000 * 8 * 64);
}

TEST(OperatorCost, ReadsTheMethodsOptions) {
  BenchRequest request = Request("linformer", BenchRequest::FORWARD);
  request.add_options("rank=32");
  EXPECT_DOUBLE_EQ(OperatorCost(request, 3).operations, 8.0 * 1000 * 64 * 32 * 2 * 8);
  BenchRequest relu = Request("performer", BenchRequest::FORWARD);
  EXPECT_DOUBLE_EQ(OperatorCost(relu, 3).operations, 8.0 * 1000 * 64 * 128 * 2 * 8);
  relu.add_options("kernel=RELU");
  EXPECT_DOUBLE_EQ(OperatorCost(relu, 3).operations, 4.0 * 1000 * 64 * 64 * 2 * 8);
  // A rank of 0 chooses 128.
  EXPECT_DOUBLE_EQ(OperatorCost(Request("linformer", BenchRequest::FORWARD), 3).operations,
                   8.0 * 1000 * 64 * 128 * 2 * 8);
  EXPECT_EQ(OperatorCost(Request("reformer", BenchRequest::FORWARD), 2).operations, 0);
}

TEST(OperatorCost, OfBlocksAndLandmarks) {
  // Own and sorted block of 64 tokens; 16 blocks are mixed, for keys and for values.
  EXPECT_DOUBLE_EQ(OperatorCost(Request("sinkhorn", BenchRequest::FORWARD), 3).operations,
                   (8.0 * 1000 * 64 * 64 + 4.0 * 1000 * 64 * 16) * 2 * 8);
  EXPECT_DOUBLE_EQ(OperatorCost(Request("nystromformer", BenchRequest::FORWARD), 3).operations,
                   (8.0 * 1000 * 64 * 64 + 6 * 8.0 * 64 * 64 * 64) * 2 * 8);
}

TEST(OperatorMinimumBytes, AreOutputAndGradients) {
  const int64_t tensor = 4 * 2 * 1000 * 8 * 64;
  EXPECT_EQ(OperatorMinimumBytes(Request("linear", BenchRequest::FORWARD), 3), tensor);
  EXPECT_EQ(OperatorMinimumBytes(Request("linear", BenchRequest::TRAINING), 3), 4 * tensor);
}

TEST(MinimumStateBytes, IsConstantForLinearAttentionOnly) {
  EXPECT_EQ(MinimumStateBytes(Request("linear", BenchRequest::STREAMING)),
            4 * 2 * 8 * (64 * 64 + 64));
  EXPECT_EQ(MinimumStateBytes(Request("transformer", BenchRequest::STREAMING)),
            4 * 2 * 8 * 2 * 1000 * 64);
}

TEST(RooflineOf, TakesTheLongerOfComputingAndMoving) {
  const Roofline computing = RooflineOf({200e9, 1e9}, NumericsConfig::FP32, Machine());
  EXPECT_DOUBLE_EQ(computing.seconds, 2);
  EXPECT_FALSE(computing.is_bound_by_moving);
  const Roofline moving = RooflineOf({1e9, 5e9}, NumericsConfig::FP32, Machine());
  EXPECT_DOUBLE_EQ(moving.seconds, 0.5);
  EXPECT_TRUE(moving.is_bound_by_moving);
  EXPECT_DOUBLE_EQ(RooflineOf({200e9, 1e9}, NumericsConfig::BF16, Machine()).seconds, 0.5);
}

TEST(ShareText, SaysRateAndShareOfTheBound) {
  EXPECT_EQ(ShareText({200e9, 1e9}, 4, NumericsConfig::FP32, Machine()), "50 GFLOP/s, 50 %");
  EXPECT_EQ(ShareText({0, 5e9}, 1, NumericsConfig::FP32, Machine()), "5.0 GB/s, 50 %");
  EXPECT_EQ(ShareText({0, 5e9}, 1, NumericsConfig::FP32, BenchMachine()), "–");
}

}  // namespace
}  // namespace lra
