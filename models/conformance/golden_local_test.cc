// Local attention against golden values, and the keys that it sees.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/attention/local.pb.h"
#include "models/conformance/pattern_test_util.h"
#include "models/kernels/grouped_attention.h"

namespace lra {
namespace {

using testing::ElementsAre;

LocalOptions LocalBlocks(int block_tokens, LocalOptions::Variant variant = LocalOptions::PAPER) {
  LocalOptions options;
  options.set_block_tokens(block_tokens);
  options.set_variant(variant);
  return options;
}

// clang-format off
const Golden kLocal = {"local block 3", {0.56082265, 0.43713080, -0.84346231}, {-0.07963237, -0.76984997, 0.57740130}, {-0.9893795228, 5.5014684838, 0.98367657, 1.20080211, 15.60289498}};
const Golden kLra2020Local = {"lra-local compat grouping (block 3 -> groups n mod 2)", {0.27046580, -0.16616902, -0.16302437}, {0.25030182, -0.32246475, -0.04180284}, {-0.9182042416, 0.5145671603, 1.88957539, 1.99483410, 8.38067738}};
// clang-format on

TEST(LocalGoldenTest, FastFormAndOracle) {
  const LocalOptions three = LocalBlocks(3), six = LocalBlocks(6), more = LocalBlocks(1000);
  ExpectGolden(kLocal, GoldenCase(), *MakeAttention("local", &three));
  ExpectGolden(kGoldenSoftmax, GoldenCase(), *MakeAttention("local", &six));
  ExpectGolden(kGoldenSoftmax, GoldenCase(), *MakeAttention("local", &more));
  ExpectGolden(kGoldenCausalSoftmax, Causal(GoldenCase()), *MakeAttention("local", &six));
}

TEST(LocalTest, SeesItsBlockOnly) {
  const LocalOptions four = LocalBlocks(4), one = LocalBlocks(1);
  const MadeAttention made = MakeAttention("local", &four), single = MakeAttention("local", &one);
  EXPECT_THAT(KeysOf(*made, CaseOf(10), 5), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(KeysOf(*made, CaseOf(10), 9), ElementsAre(8, 9));
  EXPECT_THAT(KeysOf(*made, Causal(CaseOf(10)), 5), ElementsAre(4, 5));
  const AttentionCase c = CaseOf(9);
  EXPECT_LT(MaxDifference(single->Attend(c.input), c.input.v), 1e-15);
}

// The golden values have the grouping of the published program, but not the tokens that it appends.
// So this test builds the groups itself.
TEST(Lra2020LocalTest, GroupsAreTheGoldenOnes) {
  AttentionGroups strided;
  strided.queries.starts = at::arange(6).view({3, 2}).t().reshape({1, 1, 2, 3});
  strided.keys = strided.queries;
  const AttentionCase c = GoldenCase();
  at::Tensor q = c.input.q.clone().set_requires_grad(true),
             k = c.input.k.clone().set_requires_grad(true),
             v = c.input.v.clone().set_requires_grad(true);
  const at::Tensor output = GroupedAttention(q, k, v, at::Tensor(), {strided}, {});
  (output * c.upstream).sum().backward();
  ExpectGoldenOutcome(kLra2020Local, c, {output.detach(), q.grad(), k.grad(), v.grad()});
}

// With N = 8 and b = 3, one token is appended, which makes three groups of three.
TEST(Lra2020LocalTest, SeesEveryThirdTokenMaskedAsNeighboursAre) {
  const LocalOptions options = LocalBlocks(3, LocalOptions::LRA2020);
  const MadeAttention made = MakeAttention("local", &options);
  EXPECT_THAT(KeysOf(*made, CaseOf(8), 4), ElementsAre(1, 4, 7));
  EXPECT_THAT(KeysOf(*made, CaseOf(8), 5), ElementsAre(2, 5));
  // The appended token has a zero key. With all keys 0, each of the group's three keys has the
  // weight 1/3.
  AttentionCase c = CaseOf(8);
  c.input.k.zero_();
  EXPECT_LT(MaxDifference(made->Attend(c.input).select(2, 5),
                          (c.input.v.select(2, 2) + c.input.v.select(2, 5)) / 3),
            1e-15);
  // Tokens 5, 6 and 7 are padding. Group 1 (tokens 1, 4 and 7) is masked as the neighbours 3, 4 and
  // 5 are.
  c = CaseOf(8);
  c.MaskFromLengths({5});
  EXPECT_THAT(KeysOf(*made, c, 4), ElementsAre(1, 4));
  // Group 2 (tokens 2, 5 and the appended one) is masked as 6, 7 and the appended token are: only
  // its last key, the appended zero, is left.
  EXPECT_THAT(KeysOf(*made, c, 2), ElementsAre());
  // If b divides N, a whole block is appended.
  EXPECT_THAT(KeysOf(*made, CaseOf(6), 4), ElementsAre(1, 4));
}

TEST(LocalTest, KeepsThePromises) {
  ExpectKeepsPromises("local", LocalBlocks(5));
  ExpectKeepsPromises("local", LocalBlocks(4, LocalOptions::LRA2020));
}

TEST(LocalTest, RefusesImpossibleOptions) {
  ExpectRefused("local", LocalBlocks(0), "attention.options.block_tokens: 0 is out of range");
}

}  // namespace
}  // namespace lra
