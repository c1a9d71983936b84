// Dilated convolutions by hand: three tokens of two channels, taps that are multiples of the
// identity; which convolution has which dilation; and the promises of the forms that the registered
// options do not have.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lra/config.h"
#include "models/block/dilated_convolution.pb.h"
#include "models/block_facts.h"
#include "models/conformance/conformance_test_util.h"
#include "models/interface/block.h"

namespace lra {
namespace {

constexpr char kName[] = "dilated_convolution";

class DilatedConvolutionsTest : public testing::Test {
 protected:
  DilatedConvolutionsTest() {
    options_.set_kernel_tokens(3);
    options_.set_convolutions(1);
    options_.set_dilations(1);
    options_.set_circular(true);
    options_.set_row_tokens(0);
    context_.model.set_width(2);
    context_.model.set_norm_epsilon(1e-12f);
    context_.attention.set_name(kNoAttention);
    context_.parameters = &parameters_;
  }

  absl::StatusOr<std::unique_ptr<Block>> TryToMake() {
    context_.options.PackFrom(options_);
    return BlockRegistry::Get().Create("block", kName, context_);
  }

  // The first tap the identity, the last one twice that, nothing between.
  at::Tensor Output() {
    const std::unique_ptr<Block> block = TryToMake().value();
    for (const Parameter& p : parameters_.parameters()) {
      const at::Tensor value = p.value.detach();
      if (value.dim() != 2) continue;
      value.zero_();
      value.narrow(1, 0, 2).copy_(at::eye(2));
      value.narrow(1, 4, 2).copy_(2 * at::eye(2));
    }
    return block->Forward({x_});
  }

  static void ExpectRows(const at::Tensor& y, std::vector<double> expected) {
    const at::Tensor rows = at::tensor(expected).view({1, 3, 2}).to(at::kFloat);
    EXPECT_TRUE(at::allclose(y, rows, 0, 2e-6)) << y;
  }

  // The dilations of the encoder's convolutions, block after block, as the blocks show them.
  std::vector<std::string> Dilations(int blocks) {
    std::vector<std::string> shown;
    const PartVisitor visit = [&](absl::string_view part, const at::Tensor&) {
      shown.emplace_back(part.substr(part.rfind(' ') + 1));
    };
    for (context_.index = 0; context_.index < blocks; ++context_.index) {
      context_.scope = std::to_string(context_.index);
      BlockInput input = {x_};
      input.visit = &visit;
      TryToMake().value()->Forward(input);
    }
    return shown;
  }

  ParameterStore parameters_{1};
  DilatedConvolutionOptions options_;
  BlockContext context_;
  // Normalised: (-1, 1), (1, -1), (-1, 1).
  const at::Tensor x_ = at::tensor({0.0f, 2.0f, 4.0f, 0.0f, 0.0f, 2.0f}).view({1, 3, 2});
};

// GELU of 1, 2, 3: .8413447, 1.9544997, 2.9959503; of -1, -2, -3: -.1586553, -.0455003, -.0040497.
// z_0 = x'_2 + 2 x'_1 = (1, -1), z_1 = x'_0 + 2 x'_2 = (-3, 3), z_2 = x'_1 + 2 x'_0 = (-1, 1).
TEST_F(DilatedConvolutionsTest, TheEndsOfACircleAreNeighbours) {
  ExpectRows(Output(), {0.8413447, 1.8413447, 3.9959503, 2.9959503, -0.1586553, 2.8413447});
}

// z_0 = 2 x'_1 = (2, -2), z_2 = x'_1 = (1, -1).
TEST_F(DilatedConvolutionsTest, OutsideOfASequenceAreZeros) {
  options_.set_circular(false);
  ExpectRows(Output(), {1.9544997, 1.9544997, 3.9959503, 2.9959503, 0.8413447, 1.8413447});
}

// z_n = x'_{n-2} + 2 x'_n: z_0 = (-2, 2), z_1 = (2, -2), z_2 = (-3, 3).
TEST_F(DilatedConvolutionsTest, TheLastTapOfACausalOneReadsTheTokenItself) {
  options_.set_circular(false);
  context_.attention.set_causal(true);
  ExpectRows(Output(), {-0.0455003, 3.9544997, 5.9544997, -0.0455003, -0.0040497, 4.9959503});
}

TEST_F(DilatedConvolutionsTest, DilationsGoOnThroughTheEncoder) {
  using testing::ElementsAre;
  options_.set_convolutions(3);
  options_.set_dilations(6);
  EXPECT_THAT(Dilations(2), ElementsAre("1", "2", "4", "8", "16", "32"));
  options_.set_dilations(4);
  parameters_ = ParameterStore(1);
  EXPECT_THAT(Dilations(2), ElementsAre("1", "2", "4", "8", "1", "2"));
}

TEST_F(DilatedConvolutionsTest, RowsAndColumnsOfAPictureTakeTurns) {
  using testing::ElementsAre;
  options_.set_convolutions(3);
  options_.set_dilations(2);
  options_.set_row_tokens(32);
  EXPECT_THAT(Dilations(2), ElementsAre("1", "32", "2", "64", "1", "32"));
}

// With no weights, biases of 1 and dropout of a half, a convolution adds 2 gelu(1) or nothing: two
// with one mask would add 4 gelu(1) or nothing.
TEST_F(DilatedConvolutionsTest, EveryConvolutionDropsByAMaskOfItsOwn) {
  options_.set_convolutions(2);
  const std::unique_ptr<Block> block = TryToMake().value();
  for (const Parameter& p : parameters_.parameters())
    if (!p.name.ends_with("norm.weight")) p.value.detach().fill_(p.name.ends_with("bias") ? 1 : 0);
  BlockInput input = {at::randn({1, 64, 2})};
  input.run.probability = 0.5f;
  input.run.is_training = true;
  input.run.example_ids = at::tensor({3}, at::kLong);
  const at::Tensor added = (block->Forward(input) - input.x).div(2 * 0.8413447).round();
  std::set<double> amounts;
  for (int64_t i = 0; i < added.numel(); ++i) amounts.insert(added.flatten()[i].item<double>());
  EXPECT_THAT(amounts, testing::ElementsAre(0, 1, 2));
}

TEST_F(DilatedConvolutionsTest, WhatItCannotBeMadeOfIsRefused) {
  options_.set_kernel_tokens(4);
  EXPECT_EQ(TryToMake().status().message(), "block.options.kernel_tokens: is 4, must be odd");
  options_.set_kernel_tokens(3);
  context_.attention.set_causal(true);
  EXPECT_EQ(TryToMake().status().message(),
            "attention.causal: is true, but a circular convolution reads the end of a sequence at "
            "its beginning; set block.options.circular=false");
}

class FormsOfDilatedConvolutionsTest : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(FormsOfDilatedConvolutionsTest, KeepThePromisesOfABlock) {
  ExpectAllPass(CheckBlock(kName, LoadBlockOptions(kName, GetParam()).value()), 40);
}

// The first two have a causal and a streaming form, too.
INSTANTIATE_TEST_SUITE_P(
    Options, FormsOfDilatedConvolutionsTest,
    testing::Values(std::vector<std::string>{"circular=false"},
                    std::vector<std::string>{"circular=false", "dilations=2", "kernel_tokens=5"},
                    std::vector<std::string>{"convolutions=2", "kernel_tokens=7"},
                    std::vector<std::string>{"row_tokens=3", "dilations=2"}));

}  // namespace
}  // namespace lra
