// Exact softmax attention against golden values (golden_test_util.h) and identities of its
// definition.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

// clang-format off
const Golden kPlain = {"softmax", {0.10881900, -0.32058849, 0.09846683}, {0.33555482, -0.17303866, -0.22367163}, {-0.8944976236, -0.0892590791, 1.53910518, 1.77257699, 7.59602138}};
const Golden kMasked = {"softmax, key 4 masked", {0.12913747, -0.12769253, -0.04657414}, {0.38122676, -0.05094317, -0.34828797}, {-0.3242631609, -0.4292582062, 1.70352320, 2.39230536, 9.01356190}};
const Golden kCausal = {"softmax causal", {0.29552021, 0.80849640, -0.81827711}, {0.33555482, -0.17303866, -0.22367163}, {1.1319240234, -1.1016248190, 0.68237297, 0.59217250, 14.48520388}};
const Golden kCross = {"softmax cross Nq=3 Nk=6", {0.10881900, -0.32058849, 0.09846683}, {0.52469706, -0.42581184, -0.24937601}, {-0.5763668546, 1.7544647245, 0.72327571, 0.57738157, 3.91160633}};
// clang-format on

TEST(GoldenSoftmaxTest, FastFormAndOracle) {
  const MadeAttention softmax = MakeAttention("transformer");
  ExpectGolden(kPlain, GoldenCase(), *softmax);
  ExpectGolden(kMasked, GoldenCaseWithoutKey4(), *softmax);
  ExpectGolden(kCross, GoldenCase(3, 6), *softmax);
  AttentionCase causal = GoldenCase();
  causal.input.causal = true;
  ExpectGolden(kCausal, causal, *softmax);
}

TEST(SoftmaxDefinitionTest, OneTokenIsItsValueAndZeroQueriesAverage) {
  const MadeAttention softmax = MakeAttention("transformer");
  const AttentionCase one = GoldenCase(1, 1);
  EXPECT_TRUE(at::allclose(softmax->Attend(one.input), one.input.v, 0, 1e-15));
  AttentionCase c = GoldenCaseWithoutKey4();
  c.input.q = at::zeros_like(c.input.q);
  const at::Tensor kept =
      c.input.v.index_select(2, at::tensor({0, 1, 2, 3, 5}, at::kLong)).mean(2, true);
  EXPECT_TRUE(at::allclose(softmax->Attend(c.input), kept.expand({-1, -1, 6, -1}), 0, 1e-14));
}

TEST(SoftmaxDefinitionTest, AConstantAddedToAllScoresChangesNothing) {
  const MadeAttention softmax = MakeAttention("transformer");
  AttentionCase c = GoldenCase();
  const at::Tensor before = softmax->Attend(c.input);
  c.input.k = c.input.k + at::ones({4}, at::kDouble) * 0.7;  // adds 0.7 sum(q_i) to all of row i
  EXPECT_TRUE(at::allclose(softmax->Attend(c.input), before, 0, 1e-14));
}

// Pieces of every length, values of another width than keys, beyond several doublings of the cache.
TEST(SoftmaxStreamTest, PiecesEqualTheCausalForm) {
  MadeSizes sizes;
  sizes.heads = 3;
  sizes.head_width = 5;
  const MadeAttention softmax = MakeAttention("transformer", nullptr, sizes);
  AttentionCase c(1, 2, 3, 300, 300, 5);
  c.MaskRandomly(2);
  c.input.causal = true;
  c.input.v = c.input.v.narrow(3, 0, 2);
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    for (at::Tensor* t : {&c.input.q, &c.input.k, &c.input.v}) *t = t->to(type);
    const at::Tensor whole = softmax->Attend(c.input);
    AttentionState state = softmax->InitState(2, c.input.q.options());
    std::vector<at::Tensor> pieces;
    for (int64_t first = 0, length = 1; first < 300; first += length, length = length % 23 + 3) {
      length = std::min<int64_t>(length, 300 - first);
      AttentionInput piece;
      piece.q = c.input.q.narrow(2, first, length);
      piece.k = c.input.k.narrow(2, first, length);
      piece.v = c.input.v.narrow(2, first, length);
      piece.keep = c.input.keep.narrow(1, first, length);
      pieces.push_back(softmax->Extend(piece, &state));
    }
    EXPECT_EQ(state.tokens, 300);
    EXPECT_LE(MaxDifference(at::cat(pieces, 2), whole), type == at::kFloat ? 3e-6 : 1e-13);
  }
}

}  // namespace
}  // namespace lra
