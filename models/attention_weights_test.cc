#include "models/attention_weights.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/interface/options.h"

namespace lra {
namespace {

AttentionInput RandomInput() {
  at::manual_seed(1);
  AttentionInput input;
  input.q = at::randn({2, 3, 5, 4}, at::kDouble);
  input.k = at::randn({2, 3, 7, 4}, at::kDouble);
  input.v = at::randn({2, 3, 7, 6}, at::kDouble);
  return input;
}

std::unique_ptr<Attention> Make(const char* name) {
  AttentionContext context;
  context.heads = 3;
  context.head_width = 4;
  context.max_length_tokens = 7;
  context.options = LoadAttentionOptions(name).value();
  return AttentionRegistry::Get().Create("attention", name, context).value();
}

TEST(ImpliedWeightsTest, AreSoftmaxOfTheScaledProducts) {
  AttentionInput input = RandomInput();
  input.keep = at::ones({2, 7}, at::kBool);
  input.keep[1][6] = false;
  const auto weights = ImpliedWeights(*Make("transformer"), input);
  ASSERT_TRUE(weights.ok()) << weights.status();
  const at::Tensor scores = at::matmul(input.q, input.k.transpose(2, 3)) / 2.0;
  const at::Tensor expected =
      at::softmax(scores.masked_fill(input.keep.logical_not().view({2, 1, 1, 7}), -INFINITY), -1);
  EXPECT_EQ(weights->sizes(), at::IntArrayRef({2, 3, 5, 7}));
  EXPECT_TRUE(at::allclose(*weights, expected, 0, 1e-12));
}

TEST(ImpliedWeightsTest, TimesTheValuesAreTheOutput) {
  const AttentionInput input = RandomInput();
  for (const char* name : {"linear", "cosformer"}) {
    const auto attention = Make(name);
    EXPECT_TRUE(at::allclose(at::matmul(*ImpliedWeights(*attention, input), input.v),
                             attention->Attend(input), 0, 1e-10))
        << name;
  }
}

class Weightless : public Attention {
 public:
  Weightless() {
    traits_.label = "Weightless";
    traits_.has_weights = false;
  }
  const Traits& traits() const override { return traits_; }
  at::Tensor Attend(const AttentionInput& input) const override { return input.v * input.v; }
  at::Tensor Oracle(const AttentionInput& input) const override { return Attend(input); }

 private:
  Traits traits_;
};

TEST(ImpliedWeightsTest, AttentionsWithoutWeightsAreRefused) {
  const absl::Status status = ImpliedWeights(Weightless(), RandomInput()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("Weightless has no attention weights"));
}

}  // namespace
}  // namespace lra
