// Longformer against golden values, and the keys that it sees.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "models/attention/longformer.pb.h"
#include "models/conformance/pattern_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;

// clang-format off
const Golden kBand = {"band abs(i-j)<=1", {0.46598832, 0.63075424, -0.87382085}, {-0.34262622, -0.71888926, 0.80744502}, {-0.8823699366, 5.1016853940, 0.55555472, 0.68117407, 15.74258473}};
const Golden kBandAndGlobal = {"band abs(i-j)<=1 + global key 0 for all rows, row 0 attends all", {0.10881900, -0.32058849, 0.09846683}, {-0.08387588, -0.09957754, 0.14826063}, {-0.5804876882, 2.4055688602, 0.89073356, 1.21540034, 9.36879549}};
// clang-format on

LongformerOptions Window(int window_tokens, int global_tokens, bool is_tied = true) {
  LongformerOptions options;
  options.set_window_tokens(window_tokens);
  options.set_global_tokens(global_tokens);
  options.set_tied_global_projections(is_tied);
  return options;
}

TEST(LongformerGoldenTest, FastFormAndOracle) {
  const LongformerOptions band = Window(1, 0), global = Window(1, 1), wide = Window(5, 0),
                          wide_global = Window(5, 1), all_global = Window(1, 6);
  ExpectGolden(kBand, GoldenCase(), *MakeAttention("longformer", &band));
  ExpectGolden(kBandAndGlobal, GoldenCase(), *MakeAttention("longformer", &global));
  for (const LongformerOptions& options : {wide, wide_global, all_global})
    ExpectGolden(kGoldenSoftmax, GoldenCase(), *MakeAttention("longformer", &options));
  ExpectGolden(kGoldenCausalSoftmax, Causal(GoldenCase()), *MakeAttention("longformer", &wide));
}

TEST(LongformerTest, SeesItsWindowAndTheGlobalTokens) {
  const LongformerOptions two = Window(2, 0), one = Window(1, 2);
  const MadeAttention made = MakeAttention("longformer", &two);
  // Away from the edges, the window moves with the query, across the blocks that the kernel cuts
  // queries into.
  for (const int64_t i : {2, 15, 16, 31, 37}) {
    EXPECT_THAT(KeysOf(*made, CaseOf(40), i), ElementsAre(i - 2, i - 1, i, i + 1, i + 2));
    EXPECT_THAT(KeysOf(*made, Causal(CaseOf(40)), i), ElementsAre(i - 2, i - 1, i));
  }
  const MadeSizes sizes = SizesOf(40);
  const MadeAttention global = MakeAttention("longformer", &one, sizes);
  EXPECT_THAT(KeysOf(*global, CaseOf(40), 30), ElementsAre(0, 1, 29, 30, 31));
  EXPECT_THAT(KeysOf(*global, CaseOf(40), 2), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(KeysOf(*global, CaseOf(40), 1).size(), 40u);
}

TEST(LongformerTest, DefaultWindowFollowsTheLength) {
  const LongformerOptions options = Window(0, 0);
  EXPECT_EQ(KeysOf(*MakeAttention("longformer", &options, SizesOf(2047)), CaseOf(700), 350).size(),
            257u);
  EXPECT_EQ(KeysOf(*MakeAttention("longformer", &options, SizesOf(2048)), CaseOf(700), 350).size(),
            513u);
}

TEST(LongformerTest, Lra2020SeesOneLessBefore) {
  LongformerOptions options = Window(0, 0);
  options.set_variant(LongformerOptions::LRA2020);
  std::vector<int64_t> expected;
  for (int64_t j = 350 - 255; j <= 350 + 256; ++j) expected.push_back(j);
  EXPECT_EQ(KeysOf(*MakeAttention("longformer", &options), CaseOf(700), 350), expected);
}

// The layer input holds q, k and v side by side, and the projections cut them out, so the result is
// that of tied projections.
TEST(LongformerTest, GlobalRowsUseTheirOwnProjections) {
  const LongformerOptions own = Window(1, 2, false), tied = Window(1, 2);
  MadeSizes sizes = SizesOf(9);
  sizes.model_width = 3 * 8;
  const MadeAttention made = MakeAttention("longformer", &own, sizes),
                      expected = MakeAttention("longformer", &tied, sizes);
  EXPECT_TRUE(made->traits().uses_layer_input && !expected->traits().uses_layer_input);
  EXPECT_EQ(expected.store->count(), 0);
  EXPECT_EQ(made.store->count(), 3 * 8 * 24);
  const at::Tensor eye = at::eye(24, at::kDouble);
  made.SetParameter("global_query.weight", eye.slice(0, 0, 8));
  made.SetParameter("global_key.weight", eye.slice(0, 8, 16));
  made.SetParameter("global_value.weight", eye.slice(0, 16, 24));
  AttentionCase c = CaseOf(9);
  const auto merged = [](const at::Tensor& t) { return t.transpose(1, 2).flatten(2); };
  c.input.x = at::cat({merged(c.input.q), merged(c.input.k), merged(c.input.v)}, 2);
  EXPECT_LT(MaxDifference(made->Attend(c.input), expected->Attend(c.input)), 1e-14);
  c.input.x = c.input.x.mul(2);
  const at::Tensor other = made->Attend(c.input), same = expected->Attend(c.input);
  EXPECT_GT(MaxDifference(other.slice(2, 0, 2), same.slice(2, 0, 2)), 0.1);
  EXPECT_LT(MaxDifference(other.slice(2, 2), same.slice(2, 2)), 1e-14);
}

TEST(LongformerTest, NanInPaddedLayerInputsStaysOutOfTheProjections) {
  const LongformerOptions own = Window(1, 2, false);
  MadeSizes sizes = SizesOf(9);
  sizes.model_width = LayerInputWidth(2, 4);
  const MadeAttention made = MakeAttention("longformer", &own, sizes);
  AttentionCase c = CaseOf(9);
  c.MaskFromLengths({5});
  c.input.x.slice(1, 5).fill_(std::numeric_limits<double>::quiet_NaN());
  (made->Attend(c.input) * c.upstream).sum().backward();
  for (const Parameter& map : made.store->parameters()) {
    EXPECT_TRUE(map.value.grad().isfinite().all().item<bool>()) << map.name;
    EXPECT_GT(map.value.grad().abs().max().item<double>(), 0) << map.name;
  }
}

TEST(LongformerTest, KeepsThePromises) {
  ExpectKeepsPromises("longformer", Window(3, 0));
  ExpectKeepsPromises("longformer", Window(5, 2));
  ExpectKeepsPromises("longformer", Window(2, 3, false));
  LongformerOptions options = Window(4, 0);
  options.set_variant(LongformerOptions::LRA2020);
  ExpectKeepsPromises("longformer", options);
}

TEST(LongformerTest, RefusesImpossibleOptions) {
  ExpectRefused("longformer", Window(-1, 0), "attention.options.window_tokens: -1 is out of range");
  ExpectRefused("longformer", Window(4, 7), "attention.options.global_tokens: is 7");
}

}  // namespace
}  // namespace lra
