// Tests of Sinkhorn attention: against numbers that another program made in float64, and against
// softmax attention where the soft permutation is known.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "models/attention/sinkhorn.pb.h"
#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

SinkhornOptions With(int block, int iterations = 8, double temperature = 0.75) {
  SinkhornOptions options;
  options.set_block_tokens(block);
  options.set_iterations(iterations);
  options.set_temperature(temperature);
  return options;
}

SinkhornOptions Lra2020(int block) {
  SinkhornOptions options;
  options.set_variant(SinkhornOptions::LRA2020);
  options.set_block_tokens(block);
  return options;
}

MadeAttention Make(const SinkhornOptions& options, const at::Tensor& sort) {
  MadeAttention made = MakeAttention("sinkhorn", &options);
  made.SetParameter("sort.weight", sort);
  return made;
}

at::Tensor Softmax(const AttentionInput& input) {
  return MakeAttention("transformer")->Oracle(input);
}

// clang-format off
const Golden kSorted = {"Sinkhorn block 2, T=8, tau=.75, mean-pooled keys, concat softmax", {0.29146511, 0.10347617, -0.35837064}, {0.13026370, -0.30707045, 0.06828165}, {-0.8927971675, 1.7879922835, 0.46522601, 1.51670301, 8.09444539}};
const Golden kLra2020 = {"Sinkhorn LRA compat (block 2, nb 3, no masks)", {0.83725886, -1.74143584, 0.28871722}, {1.53713974, -0.87966269, -0.96836820}, {-2.8097602184, -5.7242985854, 47.12667506, 46.44578202, 130.35311574}};
// clang-format on

TEST(SinkhornGoldenTest, FastFormAndOracle) {
  // The vectors w_m[c] = 0.5 cos(c + 2 m) for 3 blocks.
  const at::Tensor sort = 0.5 * at::cos(Grid(4, 1, 2) + 2 * Grid(3, 0, 2));
  ExpectGolden(kSorted, GoldenCase(), *Make(With(2), sort));
  const SinkhornOptions lra = Lra2020(2);
  ExpectGolden(kLra2020, GoldenCase(), *MakeAttention("sinkhorn", &lra));
}

TEST(SinkhornTest, OptionsKeepThePromises) {
  ExpectKeepsPromises("sinkhorn", With(5, 2, 2));
  ExpectKeepsPromises("sinkhorn", Lra2020(4));
}

TEST(SinkhornTest, OneBlockIsSoftmaxAttention) {
  const AttentionCase c = GoldenCaseWithoutKey4();
  const MadeAttention made = Make(With(8), at::ones({1, 4}, at::kDouble));
  EXPECT_LT(MaxDifference(made->Attend(c.input), Softmax(c.input)), 1e-14);
}

// The blocks' keys are e_0, e_1 and e_2, and w is steep, so P is the cycle 0 -> 1 -> 2 -> 0: every
// query sees its own block and the next.
TEST(SinkhornTest, SteepLogitsSortTheBlocks) {
  AttentionCase c = GoldenCase();
  c.input.k = at::eye(4, at::kDouble).slice(0, 0, 3).repeat_interleave(2, 0).expand({1, 2, 6, 4});
  const at::Tensor sort = 200 * at::eye(4, at::kDouble).slice(0, 0, 3).roll(1, 0);  // w_m ~ e_(m-1)
  const at::Tensor block = at::floor_divide(at::arange(6), 2),
                   next = (block + 1).remainder(3).unsqueeze(1);
  const at::Tensor seen = block.unsqueeze(1).eq(block).logical_or(next.eq(block));  // [6, 6]
  const at::Tensor logits = at::matmul(c.input.q, c.input.k.mT()) / 2.0;
  const at::Tensor expected =
      at::matmul(at::softmax(logits.masked_fill(seen.logical_not(), -1e30), -1), c.input.v);
  EXPECT_LT(MaxDifference(Make(With(2), sort)->Attend(c.input), expected), 1e-12);
}

// Whatever w is, the second block can mix the first block only, and the first block sees itself
// only. So this is exact causal softmax attention over two blocks.
TEST(SinkhornTest, CausallyTwoBlocksAreSoftmaxAttention) {
  AttentionCase c = GoldenCase();
  c.input.causal = true;
  const at::Tensor future = at::ones({6, 6}, at::kBool).triu(1);
  const at::Tensor logits =
      (at::matmul(c.input.q, c.input.k.mT()) / 2.0).masked_fill(future, -1e30);
  const at::Tensor expected = at::matmul(at::softmax(logits, -1), c.input.v);
  const at::Tensor sort = 0.5 * at::cos(Grid(4, 1, 2) + 2 * Grid(2, 0, 2));
  EXPECT_LT(MaxDifference(Make(With(3), sort)->Attend(c.input), expected), 1e-14);
}

// In training, noise makes the permutation another one. It belongs to the example: it is the same
// alone as in a batch, with and without padding, and in the oracle.
TEST(SinkhornTest, NoiseBelongsToTheExample) {
  for (const bool causal : {false, true}) {
    MadeSizes sizes;
    sizes.max_length_tokens = 24;
    const SinkhornOptions options = With(4);
    const MadeAttention made = MakeAttention("sinkhorn", &options, sizes);
    AttentionCase c(30, 2, 2, 24, 24, 4);
    c.input.causal = causal;
    c.MaskFromLengths({24, 15});
    const at::Tensor quiet = made->Attend(c.input);
    c.input.is_training = true;
    c.input.weight_dropout = {0, 1, 2, 3, at::tensor(std::vector<int64_t>{8, 5}, at::kLong)};
    const AttentionOutcome fast = RunAttention(*made, Form::kFast, c);
    EXPECT_LT(OutcomeDifference(fast, RunAttention(*made, Form::kOracle, c), c), 1e-12);
    EXPECT_GT(MaxDifference(RealRows(fast.output, c), RealRows(quiet, c)), 1e-3);
    const AttentionCase alone = c.Example(1, 15);
    EXPECT_LT(
        MaxDifference(made->Attend(alone.input), fast.output.narrow(0, 1, 1).narrow(2, 0, 15)),
        1e-13);
    c.input.weight_dropout.step = 4;
    EXPECT_GT(MaxDifference(RealRows(made->Attend(c.input), c), RealRows(fast.output, c)), 1e-3);
  }
}

// At a low temperature the other blocks have e^-100 of a row's favourite. Where the favourite has
// no token, they are mixed all the same, with all of the row's weight.
TEST(SinkhornTest, ABlockWithoutATokenLeavesItsWeightToTheOthersHoweverLittleTheyHave) {
  MadeSizes sizes;
  sizes.heads = 4;
  sizes.max_length_tokens = 24;
  const SinkhornOptions options = With(3, 1, 0.05);
  const MadeAttention made = MakeAttention("sinkhorn", &options, sizes);
  for (const bool causal : {false, true}) {
    for (const bool has_holes : {false, true}) {
      AttentionCase c(31, 6, 4, 23, 23, 4), rounded = c;
      c.input.k = c.input.k * 5;
      for (at::Tensor AttentionInput::*const t :
           {&AttentionInput::q, &AttentionInput::k, &AttentionInput::v}) {
        rounded.input.*t = (c.input.*t).to(at::kFloat);
        c.input.*t = (rounded.input.*t).to(at::kDouble);
      }
      rounded.upstream = c.upstream.to(at::kFloat);
      c.upstream = rounded.upstream.to(at::kDouble);
      for (AttentionCase* const one : {&c, &rounded}) {
        one->input.causal = causal;
        has_holes ? one->MaskRandomly(32) : one->MaskFromLengths({23, 14, 4, 20, 11, 8});
      }
      const AttentionOutcome exact = RunAttention(*made, Form::kOracle, c);
      EXPECT_LT(OutcomeDifference(RunAttention(*made, Form::kFast, c), exact, c), 1e-9);
      EXPECT_LT(OutcomeDifference(RunAttention(*made, Form::kFast, rounded), exact, c), 1e-2);
    }
  }
}

TEST(SinkhornTest, RefusesImpossibleOptionsAndInputs) {
  ExpectRefused("sinkhorn", With(0), "attention.options.block_tokens: 0 is out of range");
  ExpectRefused("sinkhorn", With(2, 0), "attention.options.iterations: 0 is out of range");
  ExpectRefused("sinkhorn", With(2, 8, 0), "attention.options.temperature: 0 is out of range");
  const SinkhornOptions options = With(2);
  const MadeAttention made = MakeAttention("sinkhorn", &options);
  EXPECT_THROW(made->Attend(GoldenCase(7, 7).input), c10::Error);
  EXPECT_THROW(made->Attend(GoldenCase(3, 6).input), c10::Error);
}

}  // namespace
}  // namespace lra
