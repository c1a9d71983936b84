// Low-rank attentions against numbers made by another program in float64, and
// against softmax attention where they must equal or approach it.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/attention/linformer.pb.h"
#include "models/attention/nystromformer.pb.h"
#include "models/attention/performer.pb.h"
#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

at::Tensor Softmax(const AttentionInput& input) {
  return MakeAttention("transformer")->Oracle(input);
}

// --- Performer ---

PerformerOptions PerformerWith(PerformerOptions::Kernel kernel, int features) {
  PerformerOptions options;
  options.set_kernel(kernel);
  options.set_features(features);
  return options;
}

PerformerOptions Lra2020With(int features) {
  PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, features);
  options.set_variant(PerformerOptions::LRA2020);
  return options;
}

MadeAttention MakePerformer(PerformerOptions::Kernel kernel, int features) {
  const PerformerOptions options = PerformerWith(kernel, features);
  return MakeAttention("performer", &options);
}

// clang-format off
const Golden kPositive = {"FAVOR+ m=8, no eps", {0.40379391, -0.30539004, -0.20633508}, {0.35860353, -0.31305215, -0.15619054}, {-0.9772479245, 0.9532513537, 0.83064519, 2.83266636, 7.02453390}};
const Golden kHyperbolic = {"FAVOR+ hyperbolic 2m=16", {0.43322711, -0.31400425, -0.23019852}, {0.38422979, -0.31927470, -0.17779343}, {-0.9545766195, 0.8749477921, 0.82414235, 2.49650259, 6.97370784}};
// The golden gradients treat the maxima as constants. The program that ran, and ours, differentiate
// through them, which makes a difference of the order of epsilon.
const Golden kOfficial = {"FAVOR+ official stabiliser, eps=1e-6", {0.40379361, -0.30539002, -0.20633479}, {0.35860343, -0.31305203, -0.15619052}, {-0.9772477321, 0.9532501648, 0.83063361, 2.83264209, 7.02453316}, 2e-6};
const Golden kRelu = {"Performer generalized: relu+1e-3", {-0.00560770, 0.11086907, -0.06607792}, {0.44540403, 0.27951405, -0.62613198}, {0.7910837595, -2.0628582214, 2.25825967, 8.46686274, 12.63523555}};
// clang-format on

TEST(PerformerGoldenTest, FastFormAndOracle) {
  const at::Tensor projection =
      1.5 * at::sin(0.37 + 1.13 * at::arange(8, at::kDouble).view({8, 1}) +
                    2.71 * at::arange(kGoldenWidth, at::kDouble).view({1, kGoldenWidth}));
  const std::pair<Golden, PerformerOptions::Kernel> random[] = {
      {kPositive, PerformerOptions::SOFTMAX}, {kHyperbolic, PerformerOptions::HYPERBOLIC}};
  for (const auto& [golden, kernel] : random) {
    const MadeAttention made = MakePerformer(kernel, 8);
    made.SetBuffer("projection", projection);
    ExpectGolden(golden, GoldenCase(), *made);
  }
  const PerformerOptions official = Lra2020With(8);
  const MadeAttention lra2020 = MakeAttention("performer", &official);
  lra2020.SetBuffer("projection", projection);
  ExpectGolden(kOfficial, GoldenCase(), *lra2020);
  const MadeAttention relu = MakePerformer(PerformerOptions::RELU, 8);
  EXPECT_TRUE(relu.store->buffers().empty());
  ExpectGolden(kRelu, GoldenCase(), *relu);
}

TEST(PerformerTest, EveryKernelKeepsThePromises) {
  ExpectKeepsPromises("performer", PerformerWith(PerformerOptions::HYPERBOLIC, 24));
  ExpectKeepsPromises("performer", PerformerWith(PerformerOptions::RELU, 1));
  PerformerOptions independent = PerformerWith(PerformerOptions::SOFTMAX, 3);
  independent.set_is_orthogonal(false);
  ExpectKeepsPromises("performer", independent);
}

TEST(PerformerLra2020Test, KeepsThePromises) {
  ExpectKeepsPromises("performer", Lra2020With(2));
  ExpectKeepsPromises("performer", Lra2020With(16));
}

// Sums over the keys, before any raise: how far rows are from equal weights, and what they add up
// to.
struct Rows {
  double from_equal, largest_sum;
};
Rows RowsAt(const PerformerOptions& options, double deviation) {
  MadeSizes sizes;
  sizes.head_width = 16;
  const MadeAttention attention = MakeAttention("performer", &options, sizes);
  AttentionCase c(11, 1, 2, 256, 256, 16);
  c.input.q = c.input.q * deviation;
  c.input.k = c.input.k * deviation;
  c.input.v = at::eye(256, at::kDouble).expand({1, 2, 256, 256});
  const at::Tensor weights = attention->Attend(c.input), sums = weights.sum(-1, true);
  return {(weights / sums * 256 - 1).abs().mean().item<double>(), sums.max().item<double>()};
}

// The trap: an epsilon beside features that are far below 1.
TEST(PerformerLra2020Test, LongQueriesAndKeysGetEqualWeightsThenNone) {
  const PerformerOptions paper = PerformerWith(PerformerOptions::SOFTMAX, 64);
  const Rows small = RowsAt(Lra2020With(64), 0.5), exact = RowsAt(paper, 0.5);
  EXPECT_NEAR(small.from_equal, exact.from_equal, 1e-3);
  EXPECT_NEAR(small.largest_sum, 1, 1e-12);
  const Rows large = RowsAt(Lra2020With(64), 3);
  EXPECT_LT(large.from_equal, 0.01);
  EXPECT_GT(RowsAt(paper, 3).from_equal, 0.5);
  EXPECT_LT(large.largest_sum, 0.1);
}

TEST(PerformerLra2020Test, RefusesACausalFormAndOtherKernels) {
  const PerformerOptions options = Lra2020With(2);
  const MadeAttention made = MakeAttention("performer", &options);
  EXPECT_EQ(made->traits().causality, Causality::kNever);
  EXPECT_NE(NoCausalForm(made->traits()).find("the largest product of all keys"),
            std::string::npos);
  PerformerOptions relu = Lra2020With(2);
  relu.set_kernel(PerformerOptions::RELU);
  ExpectRefused("performer", relu, "attention.options.variant: is LRA2020");
}

// Large logits, where features of a fixed stabiliser would all underflow in float32.
TEST(PerformerTest, LargeInputsNeitherOverflowNorUnderflow) {
  const PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, 64);
  MadeSizes sizes;
  sizes.head_width = 8;
  const MadeAttention attention = MakeAttention("performer", &options, sizes);
  AttentionCase c(10, 1, 2, 50, 50, 8);
  c.input.q = c.input.q * 12;
  c.input.k = c.input.k * 12;
  const at::Tensor exact = attention->Oracle(c.input);
  AttentionCase rounded = c;
  for (at::Tensor* t : {&rounded.input.q, &rounded.input.k, &rounded.input.v, &rounded.upstream})
    *t = t->to(at::kFloat);
  const AttentionOutcome outcome = RunAttention(*attention, Form::kFast, rounded);
  EXPECT_LT(MaxDifference(outcome.output, exact), 2e-3);
  EXPECT_TRUE(outcome.dq.isfinite().all().item<bool>() && outcome.dk.isfinite().all().item<bool>());
}

// Long keys have features of e^-100 of the others'. Rows that see no other key, for the others come
// later, have them all the same, at once and in pieces.
TEST(PerformerTest, LaterKeysOfAChunkDoNotMakeEarlierOnesVanish) {
  const MadeSizes sizes({2, 32, 64, 300});
  const PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, 128);
  const MadeAttention performer = MakeAttention("performer", &options, sizes);
  AttentionCase c(12, 2, 2, 300, 300, 32, at::kFloat);
  c.input.causal = true;
  for (const int64_t token : {0, 1, 200}) c.input.k.select(2, token).mul_(8);
  AttentionCase exact = c;
  for (at::Tensor* t : {&exact.input.q, &exact.input.k, &exact.input.v, &exact.upstream})
    *t = t->to(at::kDouble);
  const AttentionOutcome fast = RunAttention(*performer, Form::kFast, c);
  EXPECT_LT(OutcomeDifference(fast, RunAttention(*performer, Form::kOracle, exact), exact), 1e-3);
  AttentionState state = performer->InitState(2, at::TensorOptions(at::kFloat));
  std::vector<at::Tensor> rows;
  for (int64_t first = 0; first < 300; first += 60) {
    AttentionInput piece = c.input;
    for (at::Tensor* t : {&piece.q, &piece.k, &piece.v}) *t = t->narrow(2, first, 60);
    rows.push_back(performer->Extend(piece, &state));
  }
  EXPECT_LT(RelativeDifference(at::cat(rows, 2), fast.output, 1), 1e-4);
}

// Relative error of the output at the values' identity, that is, of the attention matrix.
double SoftmaxError(int features, uint32_t seed) {
  MadeSizes sizes;
  sizes.seed = seed;
  sizes.head_width = 16;
  PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, features);
  options.set_is_orthogonal(false);
  const MadeAttention attention = MakeAttention("performer", &options, sizes);
  AttentionCase c(seed, 1, 1, 128, 128, 16);
  c.input.q = c.input.q * 0.5;
  c.input.k = c.input.k * 0.5;
  c.input.v = at::eye(128, at::kDouble).view({1, 1, 128, 128});
  const at::Tensor exact = Softmax(c.input);
  return ((attention->Attend(c.input) - exact).norm() / exact.norm()).item<double>();
}

// Monte Carlo: the error falls as features^-1/2.
TEST(PerformerTest, ConvergesToSoftmaxAttention) {
  double few = 0, many = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    few += SoftmaxError(128, seed) / 6;
    many += SoftmaxError(2048, seed) / 6;
  }
  EXPECT_LT(many, 0.1);
  EXPECT_NEAR(few / many, std::sqrt(2048.0 / 128), 0.25 * 4);
}

TEST(PerformerTest, ProjectionIsAFunctionOfSeedAndName) {
  const PerformerOptions options = PerformerWith(PerformerOptions::SOFTMAX, 8);
  const MadeAttention a = MakeAttention("performer", &options),
                      b = MakeAttention("performer", &options);
  EXPECT_TRUE(a.store->buffers()[0].value.equal(b.store->buffers()[0].value));
  EXPECT_EQ(a.store->buffers()[0].name, "attention.projection");
  MadeSizes sizes;
  sizes.seed = 2;
  const MadeAttention other = MakeAttention("performer", &options, sizes);
  EXPECT_FALSE(a.store->buffers()[0].value.equal(other.store->buffers()[0].value));
}

TEST(PerformerTest, RefusesImpossibleOptions) {
  ExpectRefused("performer", PerformerWith(PerformerOptions::SOFTMAX, 0),
                "attention.options.features: 0 is out of range");
  PerformerOptions options;
  options.set_relu_floor(0);
  ExpectRefused("performer", options, "attention.options.relu_floor: 0 is out of range");
}

// --- Linformer ---

const Golden kLinformer = {"Linformer E=F (3x6)",
                           {-0.45216644, 0.75482571, -0.03588812},
                           {-0.19055475, 0.86874692, -0.37115888},
                           {3.5249922773, -4.9975369945, 1.45287968, 2.36976623, 11.27806805}};

LinformerOptions LinformerWith(LinformerOptions::Sharing sharing, int rank) {
  LinformerOptions options;
  options.set_sharing(sharing);
  options.set_rank(rank);
  return options;
}

MadeAttention MakeLinformer(LinformerOptions::Sharing sharing, int rank) {
  const LinformerOptions options = LinformerWith(sharing, rank);
  return MakeAttention("linformer", &options);
}

TEST(LinformerGoldenTest, FastFormAndOracle) {
  const MadeAttention made = MakeLinformer(LinformerOptions::KEY_VALUE, 3);
  made.SetParameter(
      "key_projection",
      0.4 * at::cos(0.9 * at::arange(3, at::kDouble).view({3, 1}) +
                    0.6 * at::arange(kGoldenTokens, at::kDouble).view({1, kGoldenTokens}) + 0.1));
  ExpectGolden(kLinformer, GoldenCase(), *made);
}

TEST(LinformerTest, IdentityProjectionsAreSoftmaxAttention) {
  const MadeAttention made = MakeLinformer(LinformerOptions::KEY_VALUE, kGoldenTokens);
  made.SetParameter("key_projection", at::eye(kGoldenTokens, at::kDouble));
  const AttentionCase c = GoldenCase();
  EXPECT_LT(MaxDifference(made.attention->Attend(c.input), Softmax(c.input)), 1e-12);
}

TEST(LinformerTest, EverySharingKeepsThePromises) {
  ExpectKeepsPromises("linformer", LinformerWith(LinformerOptions::NONE, 5));
  ExpectKeepsPromises("linformer", LinformerWith(LinformerOptions::HEADWISE, 3));
}

TEST(LinformerTest, OwnsWhatItsSharingSays) {
  const auto names = [](LinformerOptions::Sharing sharing, std::vector<int64_t> shape) {
    const MadeAttention made = MakeLinformer(sharing, 2);
    std::vector<std::string> names;
    for (const Parameter& p : made.store->parameters()) {
      EXPECT_EQ(p.value.sizes().vec(), shape);
      EXPECT_TRUE(p.is_matrix) << "weight decay is that of matrices, for each head's, too";
      names.push_back(p.name);
    }
    return names;
  };
  const std::vector<std::string> one = {"attention.key_projection"},
                                 two = {"attention.key_projection", "attention.value_projection"};
  EXPECT_EQ(names(LinformerOptions::KEY_VALUE, {2, kGoldenTokens}), one);
  EXPECT_EQ(names(LinformerOptions::HEADWISE, {2, kGoldenTokens}), two);
  EXPECT_EQ(names(LinformerOptions::NONE, {2, 2, kGoldenTokens}), two);
}

TEST(LinformerTest, RefusesImpossibleRanksAndLengths) {
  ExpectRefused("linformer", LinformerWith(LinformerOptions::KEY_VALUE, 7),
                "attention.options.rank: is 7");
  ExpectRefused("linformer", LinformerWith(LinformerOptions::KEY_VALUE, -1),
                "attention.options.rank: -1 is out of range");
  const MadeAttention made = MakeLinformer(LinformerOptions::KEY_VALUE, 0);
  EXPECT_EQ(made.store->parameters()[0].value.size(0),
            kGoldenTokens);  // 128 would exceed the length
  const AttentionCase c(1, 1, 2, 7, 7, kGoldenWidth);
  EXPECT_THROW(made.attention->Attend(c.input), c10::Error);
}

// --- Nystromformer ---

// clang-format off
const Golden kNystrom = {"Nystrom m=3, 6 iterations, per-matrix init", {0.11946247, -0.34989816, 0.10677439}, {0.35925903, -0.18343105, -0.24065634}, {-0.9129863060, -0.0836723831, 1.55734013, 1.76718460, 7.60145165}};
// clang-format on

NystromformerOptions NystromformerWith(int landmarks, int convolution, int iterations = 6) {
  NystromformerOptions options;
  options.set_landmarks(landmarks);
  options.set_convolution_tokens(convolution);
  options.set_iterations(iterations);
  return options;
}

MadeAttention MakeNystromformer(int landmarks, int convolution, int iterations = 6) {
  const NystromformerOptions options = NystromformerWith(landmarks, convolution, iterations);
  return MakeAttention("nystromformer", &options);
}

TEST(NystromformerGoldenTest, FastFormAndOracle) {
  ExpectGolden(kNystrom, GoldenCase(), *MakeNystromformer(3, 0));
}

TEST(NystromformerTest, OptionsKeepThePromises) {
  ExpectKeepsPromises("nystromformer", NystromformerWith(5, 0));
  ExpectKeepsPromises("nystromformer", NystromformerWith(12, 3, 2));
}

// With as many landmarks as tokens it approaches softmax attention over many iterations; for
// examples that are shorter still, it is equal at once.
TEST(NystromformerTest, ApproachesSoftmaxAttention) {
  const AttentionCase c = GoldenCase(), masked = GoldenCaseWithoutToken4();
  const at::Tensor exact = Softmax(c.input);
  EXPECT_LT(MaxDifference(MakeNystromformer(6, 0, 40)->Attend(c.input), exact), 1e-10);
  EXPECT_GT(MaxDifference(MakeNystromformer(6, 0)->Attend(c.input), exact), 1e-4);
  EXPECT_LT(MaxDifference(MakeNystromformer(7, 0)->Attend(c.input), exact), 1e-14);
  EXPECT_LT(MaxDifference(RealRows(MakeNystromformer(6, 0)->Attend(masked.input), masked),
                          RealRows(Softmax(masked.input), masked)),
            1e-14);
}

// Taps 1, 2, 4 add v_{i-1} + 2 v_i + 4 v_{i+1} of the kept tokens, with taps of each head.
TEST(NystromformerTest, AddsTheConvolutionOfTheValues) {
  const AttentionCase c = GoldenCaseWithoutToken4();
  const MadeAttention plain = MakeNystromformer(3, 0), with = MakeNystromformer(3, 3);
  with.SetParameter("convolution",
                    at::tensor(std::vector<double>{1, 2, 4, 10, 20, 40}).view({2, 3}));
  const at::Tensor v = c.input.v.masked_fill(c.input.keep.logical_not().view({1, 1, -1, 1}), 0),
                   zero = at::zeros_like(v.narrow(2, 0, 1));
  const at::Tensor before = at::cat({zero, v.slice(2, 0, -1)}, 2),
                   after = at::cat({v.slice(2, 1), zero}, 2);
  const at::Tensor head = at::tensor(std::vector<double>{1, 10}).view({1, 2, 1, 1});
  const at::Tensor expected = plain->Attend(c.input) + head * (before + 2 * v + 4 * after);
  EXPECT_LT(MaxDifference(RealRows(with->Attend(c.input), c), RealRows(expected, c)), 1e-13);
}

TEST(NystromformerTest, RefusesImpossibleOptions) {
  ExpectRefused("nystromformer", NystromformerWith(0, 35),
                "attention.options.landmarks: 0 is out of range");
  ExpectRefused("nystromformer", NystromformerWith(8, 4),
                "attention.options.convolution_tokens: is 4");
  ExpectRefused("nystromformer", NystromformerWith(8, 0, 0),
                "attention.options.iterations: 0 is out of range");
  EXPECT_THROW(MakeNystromformer(2, 0)->Attend(GoldenCase(3, 6).input), c10::Error);
}

}  // namespace
}  // namespace lra
