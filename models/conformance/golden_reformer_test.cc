// Reformer against golden values, softmax attention, and what hashing promises.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/attention/reformer.pb.h"
#include "models/conformance/pattern_test_util.h"

namespace lra {
namespace {

// clang-format off
const Golden kReformer = {"LSH shared-QK, R=2, n_b=4, C=2, look-back no wrap, self -1e5", {-0.61185789, -0.55068554, 0.96791967}, {0.29552021, 0.80849640, -0.81827711}, {-0.3508938675, -3.4613820036, 0.47859514, 0.00000000, 11.34622565}};
// clang-format on

ReformerOptions Rounds(int chunk_tokens, int rounds, bool is_deduplicated = false) {
  ReformerOptions options;
  options.set_chunk_tokens(chunk_tokens);
  options.set_rounds(rounds);
  options.set_training_rounds(rounds);
  options.set_is_deduplicated(is_deduplicated);
  return options;
}

TEST(ReformerGoldenTest, FastFormAndOracle) {
  const ReformerOptions options = Rounds(2, 2);
  const MadeAttention made = MakeAttention("reformer", &options);
  const at::Tensor r = Grid(2, 0, 3), c = Grid(4, 1, 3), u = Grid(2, 2, 3);
  made.SetBuffer("rotations", at::sin(1.3 * r + 0.7 * c + 2.1 * u + 0.2));
  ExpectGolden(kReformer, GoldenCase(), *made);
}

// In one chunk, a token sees all tokens but itself: the logit of -1e5 leaves it no weight. A token
// that is alone gives itself all weight.
TEST(ReformerTest, OneChunkIsSoftmaxAttentionToTheOthers) {
  const ReformerOptions options = Rounds(64, 3);
  const MadeAttention made = MakeAttention("reformer", &options);
  AttentionCase c = CaseOf(30);
  c.MaskFromLengths({20});
  const at::Tensor q = c.input.q.narrow(2, 0, 20);
  const at::Tensor logits =
      at::matmul(q, (q / q.norm(2, -1, true)).transpose(-1, -2)) / std::sqrt(4.0);
  const at::Tensor weights = at::softmax(logits.masked_fill(at::eye(20, at::kBool), -INFINITY), -1);
  const at::Tensor expected = at::matmul(weights, c.input.v.narrow(2, 0, 20));
  EXPECT_LT(MaxDifference(made->Attend(c.input).narrow(2, 0, 20), expected), 1e-14);
  const AttentionCase one = CaseOf(1);
  EXPECT_LT(MaxDifference(made->Attend(one.input), one.input.v), 1e-15);
}

using Keys = std::vector<int64_t>;  // the own token has no weight where there is another

// The rotations are two of the axes, which makes four buckets: a token's bucket is that of the
// largest of its first two coordinates, by sign. Chunks of 2.
MadeAttention MakeWithAxes() {
  const ReformerOptions options = Rounds(2, 1);
  MadeAttention made = MakeAttention("reformer", &options, SizesOf(8));
  at::Tensor rotation = at::zeros({1, 4, 2}, at::kDouble);
  rotation[0][0][0] = rotation[0][1][1] = 1;
  made.SetBuffer("rotations", rotation);
  return made;
}

// One example whose tokens have these buckets under those rotations.
AttentionCase CaseInBuckets(const std::vector<int64_t>& buckets) {
  const std::vector<std::vector<double>> axes = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  AttentionCase c = CaseOf(static_cast<int64_t>(buckets.size()));
  for (int64_t i = 0; i < c.input.q.size(2); ++i) {
    c.input.q.select(2, i).select(-1, 0).fill_(axes[buckets[i]][0]);
    c.input.q.select(2, i).select(-1, 1).fill_(axes[buckets[i]][1]);
  }
  return c;
}

TEST(ReformerTest, SeesItsChunkAndTheOneBefore) {
  const MadeAttention made = MakeWithAxes();
  // The sorted chunks are 1 3 | 6 2 | 5 4 | 0 7.
  AttentionCase c = CaseInBuckets({3, 0, 1, 0, 2, 1, 0, 3});
  EXPECT_EQ(KeysOf(*made, c, 1), Keys({3}));
  EXPECT_EQ(KeysOf(*made, c, 6), Keys({1, 2, 3}));
  EXPECT_EQ(KeysOf(*made, c, 4), Keys({2, 5, 6}));
  EXPECT_EQ(KeysOf(*made, c, 7), Keys({0, 4, 5}));
  // Without token 3 the chunks are 1 6 | 2 5 | 4 0 | 7.
  c.input.keep = at::ones({1, 8}, at::kBool);
  c.input.keep[0][3] = false;
  EXPECT_EQ(KeysOf(*made, c, 4), Keys({0, 2, 5}));
  EXPECT_EQ(KeysOf(*made, c, 7), Keys({0, 4}));
}

// Chunks begin anew in each bucket: in bucket 0 they are 1 3 | 6.
TEST(ReformerTest, TheCausalFormSeesEarlierTokensOfItsBucket) {
  const MadeAttention made = MakeWithAxes();
  const AttentionCase c = Causal(CaseInBuckets({3, 0, 1, 0, 2, 1, 0, 3}));
  const std::vector<Keys> expected = {{0}, {1}, {2}, {1}, {4}, {2}, {1, 3}, {0}};
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(KeysOf(*made, c, i), expected[i]) << i;
}

// All tokens are in one bucket, so its chunks are 0 1 | 2 3 | 4 5 | 6 7.
TEST(ReformerTest, TheCausalFormLooksBackOneChunkOfALongBucket) {
  const MadeAttention made = MakeWithAxes();
  AttentionCase c = Causal(CaseInBuckets({0, 0, 0, 0, 0, 0, 0, 0}));
  const std::vector<Keys> expected = {{0},    {0},       {0, 1}, {0, 1, 2},
                                      {2, 3}, {2, 3, 4}, {4, 5}, {4, 5, 6}};
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(KeysOf(*made, c, i), expected[i]) << i;
  // Padded tokens have no rank: 0 1 | 2 4 | 5 6 | 7.
  c.input.keep = at::ones({1, 8}, at::kBool);
  c.input.keep[0][3] = false;
  EXPECT_EQ(KeysOf(*made, c, 4), Keys({0, 1, 2}));
  EXPECT_EQ(KeysOf(*made, c, 5), Keys({2, 4}));
  EXPECT_EQ(KeysOf(*made, c, 7), Keys({5, 6}));
}

// Later tokens that all come into one bucket, in each round into that of the first token, change no
// earlier output. Where they move the borders of chunks, masks alone do not keep that.
TEST(ReformerTest, LaterTokensMoveNoBorderOfTheCausalForm) {
  for (const bool is_deduplicated : {false, true}) {
    ReformerOptions options = Rounds(3, 4, is_deduplicated);
    options.set_buckets(4);
    const MadeAttention made = MakeAttention("reformer", &options, SizesOf(100));
    const AttentionCase c = Causal(CaseOf(100));
    const at::Tensor expected = made->Attend(c.input);
    EXPECT_LT(MaxDifference(expected, made->Oracle(c.input)), 1e-12);
    for (const int64_t kept : {1, 10, 50, 98}) {
      AttentionCase other = c;
      other.input.q = c.input.q.clone();
      other.input.q.narrow(2, kept, 100 - kept).copy_(c.input.q.narrow(2, 0, 1));
      const at::Tensor actual = made->Attend(other.input);
      EXPECT_LT(MaxDifference(actual.narrow(2, 0, kept), expected.narrow(2, 0, kept)), 1e-13);
      EXPECT_GT(MaxDifference(actual, expected), 1e-2) << kept;
    }
  }
}

// Two buckets, chunks of 3, one round, two heads: a later token may see the last 5 of a bucket. The
// cache is looked through after every 64 tokens, the last time 8 before the end or at the end.
TEST(ReformerTest, AStreamForgetsWhatNoLaterTokenSees) {
  ReformerOptions options = Rounds(3, 1);
  options.set_buckets(2);
  const MadeAttention made = MakeAttention("reformer", &options, SizesOf(200));
  const AttentionCase c = Causal(CaseOf(200));
  const at::Tensor expected = made->Attend(c.input);
  for (const int64_t tokens : {1, 40, 200}) {
    AttentionState state = made->InitState(1, c.input.q.options());
    std::vector<at::Tensor> outputs;
    for (int64_t first = 0; first < 200; first += tokens) {
      AttentionInput piece = c.input;
      for (at::Tensor* t : {&piece.q, &piece.k, &piece.v}) *t = t->narrow(2, first, tokens);
      outputs.push_back(made->Extend(piece, &state));
    }
    EXPECT_LT(MaxDifference(at::cat(outputs, 2), expected), 1e-12) << tokens;
    EXPECT_EQ(state.tokens, 200);
    EXPECT_LE(state.tensors[0].size(2), 2 * 2 * 5 + 8) << tokens;
  }
}

// Hashing brings near vectors together: q holds pairs with a cosine of 0.995, far apart in the
// sequence, while a chunk holds only a 32nd of the tokens.
TEST(ReformerTest, SimilarTokensFindEachOther) {
  ReformerOptions options = Rounds(16, 8);
  MadeSizes sizes = SizesOf(512);
  sizes.head_width = 16;
  const MadeAttention made = MakeAttention("reformer", &options, sizes);
  AttentionCase c(2500, 1, 2, 512, 512, 16);
  const at::Tensor first = c.input.q.narrow(2, 0, 256);
  const at::Tensor noise = c.input.k.narrow(2, 0, 256);
  c.input.q = at::cat({first, first + 0.1 * noise}, 2);
  c.input.v = at::eye(512, at::kDouble).expand({1, 2, 512, 512}).contiguous();
  const at::Tensor weights = made->Attend(c.input);  // [1, 2, 512, 512]
  const at::Tensor partner = weights.narrow(2, 0, 256).narrow(3, 256, 256).diagonal(0, 2, 3);
  const double found = partner.gt(0).to(at::kDouble).mean().item<double>();
  EXPECT_GT(found, 0.9);
  EXPECT_LT(weights.gt(0).to(at::kDouble).mean().item<double>(), 0.5);
}

TEST(ReformerTest, HashesFollowTheStepInTrainingOnly) {
  const ReformerOptions options = Rounds(4, 1);
  const MadeAttention made = MakeAttention("reformer", &options, SizesOf(64));
  ASSERT_EQ(made.store->buffers().size(), 1u);
  EXPECT_EQ(made.store->buffers()[0].value.sizes(), at::IntArrayRef({1, 4, 8}));
  AttentionCase c = CaseOf(64);
  const auto at_step = [&](uint32_t step, bool is_training) {
    c.input.is_training = is_training;
    c.input.weight_dropout = {0, 1, step, 3, at::zeros({1}, at::kLong)};
    return made->Attend(c.input);
  };
  EXPECT_GT(MaxDifference(at_step(1, true), at_step(2, true)), 1e-2);
  EXPECT_EQ(MaxDifference(at_step(1, true), at_step(1, true)), 0);
  EXPECT_EQ(MaxDifference(at_step(1, false), at_step(2, false)), 0);
}

TEST(ReformerTest, KeepsThePromises) {
  ExpectKeepsPromises("reformer", Rounds(4, 3));
  ExpectKeepsPromises("reformer", Rounds(3, 2, true));
  // Long buckets, whose tokens meet in several rounds.
  for (const bool is_deduplicated : {false, true}) {
    ReformerOptions options = Rounds(3, 8, is_deduplicated);
    options.set_buckets(4);
    ExpectKeepsPromises("reformer", options);
  }
}

TEST(ReformerTest, RefusesImpossibleOptions) {
  ExpectRefused("reformer", Rounds(0, 1), "attention.options.chunk_tokens: 0 is out of range");
  ExpectRefused("reformer", Rounds(4, 0), "rounds: 0 is out of range");
  ReformerOptions options = Rounds(4, 1);
  options.set_buckets(7);
  ExpectRefused("reformer", options, "attention.options.buckets: is 7");
}

}  // namespace
}  // namespace lra
