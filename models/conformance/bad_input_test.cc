// Every attention refuses input that does not fit when it is called through CheckedAttend(), naming
// field and value.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/conformance/golden_test_util.h"
#include "models/interface/checked.h"

namespace lra {
namespace {

class BadInputTest : public testing::TestWithParam<std::string> {
 protected:
  BadInputTest() : made_(Make({2, 4, 11, 12})) {
    context_.heads = 2;
    context_.head_width = 4;
    context_.model_width = 11;
    context_.max_length_tokens = 12;
  }

  // Without projections, E is the width of q, k and v.
  static MadeAttention Make(AttentionSizes sizes) {
    MadeAttention made = MakeAttention(GetParam(), nullptr, MadeSizes(sizes));
    if (made->traits().projections != Projections::kNone) return made;
    sizes.model_width = sizes.heads * sizes.head_width;
    return MakeAttention(GetParam(), nullptr, MadeSizes(sizes));
  }

  static AttentionInput Input(int64_t n = 9) { return AttentionCase(1, 2, 2, n, n, 4).input; }

  void ExpectRefused(const AttentionInput& input, const std::string& message) {
    const auto output = CheckedAttend(*made_, context_, input);
    EXPECT_EQ(output.status().code(), absl::StatusCode::kInvalidArgument) << output.status();
    EXPECT_THAT(std::string(output.status().message()), testing::StartsWith(message));
  }

  const MadeAttention made_;
  AttentionContext context_;
};

TEST_P(BadInputTest, GoodInputPasses) {
  const auto output = CheckedAttend(*made_, context_, Input());
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->sizes(), Input().v.sizes());
}

TEST_P(BadInputTest, ShapesThatDoNotFit) {
  AttentionInput input = Input();
  input.q = at::zeros({2, 3, 9, 4}, at::kDouble);
  ExpectRefused(input, "q: is [2, 3, 9, 4], must be [-1, 2, -1, 4]");
  input = Input();
  input.k = input.k.narrow(0, 0, 1);
  ExpectRefused(input, "k: is [1, 2, 9, 4]");
  input = Input();
  input.v = input.v.narrow(2, 0, 8);
  ExpectRefused(input, "v: is [2, 2, 8, 4]");
  input = Input();
  input.keep = at::ones({2, 8}, at::kBool);
  ExpectRefused(input, "keep: is [2, 8], must be [2, 9]");
  input.q = at::Tensor();
  ExpectRefused(input, "q: is not there");
  ExpectRefused(Input(0), "q: is [2, 2, 0, 4], must be of one token at least");
}

TEST_P(BadInputTest, TypesAndDevicesThatDiffer) {
  AttentionInput input = Input();
  input.k = input.k.to(at::kFloat);
  ExpectRefused(input, "k: is Float, must be Double");
  input = Input();
  input.v = input.v.to(at::kMeta);
  ExpectRefused(input, "v: is on meta, must be on cpu");
  input = Input();
  input.keep = at::ones({2, 9}, at::kByte);
  ExpectRefused(input, "keep: is Byte, must be of type Bool");
  input = Input();
  input.q = input.q.to(at::kLong);
  ExpectRefused(input, "q: is Long, must be of a float type");
}

TEST_P(BadInputTest, FormsThatTheMethodDoesNotHave) {
  const Traits& traits = made_->traits();
  AttentionInput input = Input(13);
  if (traits.is_length_bound) ExpectRefused(input, "tokens: is 13, must be at most 12");
  input = Input();
  input.causal = true;
  if (traits.causality == Causality::kNever) ExpectRefused(input, "causal: is true");
  input = AttentionCase(1, 2, 2, 7, 9, 4).input;
  if (!traits.supports_cross) ExpectRefused(input, "k: is [2, 2, 9, 4], must be [2, 2, 7, 4]");
  input = Input();
  input.weight_dropout.probability = 0.5;
  if (!traits.supports_weight_dropout) ExpectRefused(input, "weight_dropout: is 0.5");
  input.weight_dropout.example_ids = at::zeros({1}, at::kLong);
  if (traits.supports_weight_dropout)
    ExpectRefused(input, "weight_dropout.example_ids: is [1], must be [2]");
  input = Input();
  input.x = at::Tensor();
  if (traits.uses_layer_input) ExpectRefused(input, "x: is not there");
}

INSTANTIATE_TEST_SUITE_P(Registry, BadInputTest,
                         testing::ValuesIn(AttentionRegistry::Get().Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lra
