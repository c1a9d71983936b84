// What a measurement says beside its time, which no test asserts.
#include "bench/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "bench/choices.h"
#include "bench/measure/passes.h"
#include "lra/cpu_time.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

BenchRequest Operator(const std::string& attention, BenchRequest::Mode mode) {
  BenchRequest request;
  request.set_scope(BenchRequest::OPERATOR);
  request.set_mode(mode);
  request.set_attention(attention);
  request.set_tokens(64);
  request.set_batch(2);
  request.set_precision(NumericsConfig::FP32);
  request.set_heads(8);
  request.set_head_width(64);
  request.set_threads(1);
  request.set_passes(2);
  request.set_warm_ups(1);
  return request;
}

BenchRequest Step(const std::string& attention) {
  BenchRequest request = *SizedRequest("small");
  request.set_mode(BenchRequest::TRAINING);
  request.set_attention(attention);
  request.set_tokens(48);
  request.set_batch(2);
  request.set_threads(1);
  request.set_passes(2);
  request.set_warm_ups(1);
  return request;
}

TEST(MeasureCell, OfAnOperatorHasPassesMemoryAndCost) {
  const BenchResult result = MeasureCell(Operator("linear", BenchRequest::TRAINING));
  ASSERT_EQ(result.outcome(), BenchResult::MEASURED) << result.reason();
  EXPECT_EQ(result.passes().seconds_size(), 2);
  // The output and the gradients of q, k and v.
  EXPECT_EQ(result.minimum_bytes(), 4 * 4 * 2 * 64 * 8 * 64);
  EXPECT_GE(result.passes().peak_bytes(), result.minimum_bytes());
  EXPECT_EQ(result.operations(), 3 * 4.0 * 64 * 64 * 64 * 2 * 8);
  EXPECT_GT(result.allocations(), 0);
}

TEST(MeasurePasses, CpuTimeIsThatOfATimedPass) {
  BenchRequest request;
  request.set_passes(4);
  request.set_warm_ups(2);
  const auto cpu_seconds = [&](const std::function<void()>& pass) {
    BenchResult result;
    MeasurePasses(request, pass, &result);
    EXPECT_EQ(result.passes().seconds_size(), 4);
    return result.cpu_seconds();
  };
  const double working = cpu_seconds([] {
    const double end = ProcessCpuSeconds() + 0.02;
    while (ProcessCpuSeconds() < end) {
    }
  });
  EXPECT_GT(working, 0.019);
  EXPECT_LT(working, 0.029);  // the warm-ups with it are 0.03
  EXPECT_LT(cpu_seconds([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }), 0.01);
}

// The cold pass is not what a user waits for.
TEST(MeasurePasses, WhereTimeIsUpAfterAWarmUpThatOneCounts) {
  BenchRequest request;
  request.set_passes(4);
  request.set_warm_ups(2);
  request.set_limit_seconds(1);
  BenchResult result;
  int passes = 0;
  MeasurePasses(
      request,
      [&] { std::this_thread::sleep_for(std::chrono::milliseconds(++passes == 1 ? 350 : 500)); },
      &result);
  EXPECT_EQ(passes, 2);
  ASSERT_EQ(result.passes().seconds_size(), 1);
  EXPECT_GE(result.passes().seconds(0), 0.5);
}

// In training attentions run without autocast: casts of their own are not what is measured.
TEST(MeasureCell, OfAnOperatorInBfloat16IsWithoutAutocast) {
  BenchRequest request = Operator("nystromformer", BenchRequest::TRAINING);
  request.set_kernels("generic");
  const BenchResult plain = MeasureCell(request);
  request.set_precision(NumericsConfig::BF16);
  const BenchResult bfloat16 = MeasureCell(request);
  ASSERT_EQ(plain.outcome(), BenchResult::MEASURED) << plain.reason();
  EXPECT_EQ(bfloat16.allocations(), plain.allocations());
}

TEST(MeasureCell, MemoryIsTheSameAgain) {
  const BenchRequest request = Operator("transformer", BenchRequest::TRAINING);
  EXPECT_EQ(MeasureCell(request).passes().peak_bytes(), MeasureCell(request).passes().peak_bytes());
}

TEST(MeasureCell, AForwardPassHoldsLess) {
  const BenchResult forward = MeasureCell(Operator("linear", BenchRequest::FORWARD));
  const BenchResult training = MeasureCell(Operator("linear", BenchRequest::TRAINING));
  EXPECT_LT(forward.passes().peak_bytes(), training.passes().peak_bytes());
}

TEST(MeasureCell, ABudgetThatIsTooSmallIsOutOfMemory) {
  BenchRequest request = Operator("transformer", BenchRequest::TRAINING);
  request.set_budget_bytes(1000000);
  const BenchResult result = MeasureCell(request);
  EXPECT_EQ(result.outcome(), BenchResult::OUT_OF_MEMORY);
  EXPECT_THAT(result.reason(), HasSubstr("1.0 MB"));
  // The next one is free of it.
  EXPECT_EQ(MeasureCell(Operator("transformer", BenchRequest::TRAINING)).outcome(),
            BenchResult::MEASURED);
}

TEST(MeasureCell, WhatAMethodDoesNotDoIsRefused) {
  BenchRequest causal = Operator("linformer", BenchRequest::TRAINING);
  causal.set_causal(true);
  EXPECT_EQ(MeasureCell(causal).outcome(), BenchResult::REFUSED);
  const BenchResult stream = MeasureCell(Operator("linformer", BenchRequest::STREAMING));
  EXPECT_EQ(stream.outcome(), BenchResult::REFUSED);
  EXPECT_THAT(stream.reason(), HasSubstr("does not stream"));
}

TEST(MeasureCell, PaddingAndBfloat16AreMeasured) {
  BenchRequest request = Operator("cosformer", BenchRequest::TRAINING);
  request.set_padded(true);
  EXPECT_EQ(MeasureCell(request).outcome(), BenchResult::MEASURED);
  request = Step("linear");
  request.set_padded(true);
  request.set_precision(NumericsConfig::BF16);
  EXPECT_EQ(MeasureCell(request).outcome(), BenchResult::MEASURED);
}

TEST(MeasureCell, ACompositionIsOfFloat32) {
  BenchRequest request = Operator("linear", BenchRequest::TRAINING);
  request.set_with_composition(true);
  request.set_precision(NumericsConfig::BF16);
  EXPECT_EQ(MeasureCell(request).outcome(), BenchResult::REFUSED);
}

TEST(MeasureCell, ACompositionComputesTheSameFunction) {
  BenchRequest request = Operator("linear", BenchRequest::TRAINING);
  request.set_with_composition(true);
  const BenchResult result = MeasureCell(request);
  ASSERT_EQ(result.outcome(), BenchResult::MEASURED) << result.reason();
  EXPECT_LT(result.difference(), 1e-5);
  EXPECT_EQ(result.composition().seconds_size(), 2);
  request.set_heads(4);
  EXPECT_THAT(MeasureCell(request).reason(), HasSubstr("8 heads of width 64"));
}

// Some of its four buckets hold more tokens than a chunk has.
TEST(MeasureCell, TheCausalReformerHasACompositionOfItsOwn) {
  BenchRequest request = Operator("reformer", BenchRequest::TRAINING);
  request.set_tokens(256);
  request.set_causal(true);
  request.set_with_composition(true);
  const BenchResult result = MeasureCell(request);
  ASSERT_EQ(result.outcome(), BenchResult::MEASURED) << result.reason();
  EXPECT_LT(result.difference(), 1e-5);
}

TEST(MeasureCell, AStreamHasTheStateOfItsDefinition) {
  for (const BenchRequest::Scope scope : {BenchRequest::OPERATOR, BenchRequest::STEP}) {
    BenchRequest request = Operator("linear", BenchRequest::STREAMING);
    request.set_scope(scope);
    request.set_layers(2);
    request.set_mlp_width(32);
    const BenchResult result = MeasureCell(request);
    ASSERT_EQ(result.outcome(), BenchResult::MEASURED) << result.reason();
    EXPECT_EQ(result.passes().seconds_size(), 2);
    EXPECT_GT(result.recompute_seconds(), 0);
    // Beside matrix and vector of each head: how many tokens each example has had.
    const int64_t layers = scope == BenchRequest::STEP ? 2 : 1;
    EXPECT_EQ(result.state_bytes(), result.minimum_bytes() + layers * 2 * 8);
  }
}

TEST(MeasureCell, OfAStepHasPiecesInOrder) {
  BenchRequest request = Step("cosformer");
  request.set_profiles(true);
  const BenchResult result = MeasureCell(request);
  ASSERT_EQ(result.outcome(), BenchResult::MEASURED) << result.reason();
  std::vector<std::string> names;
  for (const BenchPiece& piece : result.pieces()) {
    names.push_back(piece.name());
    EXPECT_GT(piece.seconds(), 0);
    EXPECT_GT(piece.operations() + piece.moved_bytes(), 0);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("embedding", "norm, q, k, v", "attention",
                                            "output, MLP", "norm, head, loss", "update"));
  EXPECT_GE(result.passes().peak_bytes(), 4 * result.weight_bytes());  // with moments, gradients
}

TEST(MeasureCell, EveryMethodTakesAStep) {
  for (const std::string name : {"transformer", "reformer", "s4d", "fnet", "bigbird"})
    EXPECT_EQ(MeasureCell(Step(name)).outcome(), BenchResult::MEASURED) << name;
}

TEST(MeasureCell, NamesAPathThatIsNotThere) {
  BenchRequest request = Operator("linear", BenchRequest::FORWARD);
  request.set_kernels("avx9");
  const BenchResult result = MeasureCell(request);
  EXPECT_EQ(result.outcome(), BenchResult::REFUSED);
  EXPECT_THAT(result.reason(), HasSubstr("avx9"));
}

}  // namespace
}  // namespace lra
