// Tests of what the options of s4d choose: how state spaces start, are shared, get their input and
// their time steps, and whether they see later tokens. Golden values are from a NumPy program that
// sums the definition term by term in float64.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/real.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "models/attention/s4d.pb.h"
#include "models/attention/s4d_start.h"
#include "models/conformance/conformance_test_util.h"
#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

S4dOptions GoldenOptions() {
  S4dOptions options;
  options.set_state_size(4);
  options.set_init(S4dOptions::LEGS);
  options.set_train_input(true);
  options.set_state_groups(2);
  options.set_step_transform(S4dOptions::SOFTPLUS);
  options.set_bidirectional(true);
  return options;
}

// One-sided, with B folded into C and a step of each channel by exp.
S4dOptions OneSidedOptions() {
  S4dOptions options;
  options.set_state_size(4);
  options.set_init(S4dOptions::INV);
  options.set_train_input(false);
  options.set_state_groups(2);
  options.set_step_transform(S4dOptions::EXP);
  options.set_bidirectional(false);
  return options;
}

// The width of the golden case's values: 2 heads of 3.
MadeSizes GoldenSizes() {
  MadeSizes sizes;
  sizes.model_width = kGoldenHeads * kGoldenValueWidth;
  return sizes;
}

// E = 6 channels c, P = 2 pairs p, S = 2 state spaces s, directions x, outputs o:
//   step = -1 + 0.3 c                       log_decay = -0.7 + 0.2 s - 0.1 p
//   frequency = 0.5 + 1.1 s + 2 p           B = cos(0.3 + s + 0.7 p + 0.4 r), r = 0: re, 1: im
//   C = sin(0.2 + x + 0.5 c + 1.3 p + 0.9 r), skip = cos(c)
//   W = sin(0.4 o + 1.1 c) / 2              b = 0.1 o
MadeAttention GoldenS4d(const S4dOptions& options) {
  const int64_t width = GoldenSizes().model_width;
  MadeAttention made = MakeAttention("s4d", &options, GoldenSizes());
  const at::Tensor c = Grid(width, 0, 1), s = Grid(2, 0, 2), p = Grid(2, 1, 2);
  const bool is_softplus = options.step_transform() == S4dOptions::SOFTPLUS;
  made.SetParameter(is_softplus ? "raw_step" : "log_step", -1 + 0.3 * c);
  made.SetParameter("log_decay", -0.7 + 0.2 * s - 0.1 * p);
  made.SetParameter("frequency", 0.5 + 1.1 * s + 2 * p);
  const at::Tensor input = at::cos(0.3 + Grid(2, 0, 3) + 0.7 * Grid(2, 1, 3) + 0.4 * Grid(2, 2, 3));
  at::Tensor read_out = at::sin(0.2 + Grid(options.bidirectional() ? 2 : 1, 0) +
                                0.5 * Grid(width, 1) + 1.3 * Grid(2, 2) + 0.9 * Grid(2, 3));
  if (options.train_input()) {
    made.SetParameter("input", input);
  } else {  // channel c has the B of state space c mod 2
    const at::Tensor b = at::view_as_complex(input.contiguous()).repeat({width / 2, 1});
    const at::Tensor product = at::view_as_complex(read_out.contiguous()) * b;
    read_out = at::stack({at::real(product), at::imag(product)}, -1);
  }
  made.SetParameter("read_out", read_out);
  made.SetParameter("skip", at::cos(c));
  made.SetParameter("output.weight",
                    at::sin(0.4 * Grid(2 * width, 0, 2) + 1.1 * Grid(width, 1, 2)) / 2);
  made.SetParameter("output.bias", 0.1 * Grid(2 * width, 0, 1));
  return made;
}

// clang-format off
const Golden kTwoSided = {"shared A and B, softplus", {-0.1160003077, 0.0379166161, 0.1989327268}, {0.1313799524, 0.1369134461, 0.1315559900}, {6.8379044000, -4.3577355172, 0, 0, 2.5269012733}};
const Golden kWithoutToken4 = {"the same without token 4", {-0.2852407085, -0.1536733170, 0.0242355475}, {0.2010328178, 0.2033664772, 0.1858120712}, {6.8442180328, -4.1343336244, 0, 0, 2.1766804729}};
const Golden kOneSided = {"the past only, B in C, exp", {-0.0363508933, 0.0343753778, 0.1153227750}, {0.0923591309, 0.1198248743, 0.1411378199}, {6.2019961513, -2.5366039451, 0, 0, 1.2091540664}};
// clang-format on

TEST(S4dGoldenTest, FastFormAndOracle) {
  const MadeAttention two_sided = GoldenS4d(GoldenOptions());
  ExpectGolden(kTwoSided, GoldenCase(), *two_sided);
  ExpectGolden(kWithoutToken4, GoldenCaseWithoutToken4(), *two_sided);
  ExpectGolden(kOneSided, GoldenCase(), *GoldenS4d(OneSidedOptions()));
}

TEST(S4dOptionsTest, SharedStateSpacesKeepThePromises) {
  S4dOptions options = GoldenOptions();
  options.set_state_groups(1);  // protocol s4
  ExpectKeepsPromises("s4d", options);
}

TEST(S4dOptionsTest, OneSidedItKeepsThePromises) {
  S4dOptions options = OneSidedOptions();
  options.set_state_groups(0);
  ExpectKeepsPromises("s4d", options);
  ExpectAllPass(CheckClassifier("s4d", OptionsOver("s4d", options).value()), 15);
}

// Without a second direction the layer is the causal form of one that has it.
TEST(S4dOptionsTest, OneSidedItIsCausalAndHasHalfTheReadOut) {
  S4dOptions options = OneSidedOptions();
  const MadeAttention one_sided = MakeAttention("s4d", &options, GoldenSizes());
  options.set_bidirectional(true);
  const MadeAttention two_sided = MakeAttention("s4d", &options, GoldenSizes());
  EXPECT_EQ(one_sided->traits().causality, Causality::kAlways);
  EXPECT_EQ(two_sided->traits().causality, Causality::kOptional);
  EXPECT_EQ(two_sided.store->count() - one_sided.store->count(), 6 * 2 * 2);
  AttentionCase c = GoldenCase();
  const at::Tensor always = one_sided->Attend(c.input);
  EXPECT_GT(MaxDifference(two_sided->Attend(c.input), always), 1e-3);
  c.input.causal = true;
  EXPECT_EQ(MaxDifference(two_sided->Attend(c.input), always), 0);
}

const at::Tensor& ValueOf(const MadeAttention& made, const std::string& name) {
  for (const Parameter& p : made.store->parameters())
    if (p.name == "attention." + name) return p.value;
  ADD_FAILURE() << "nothing is named " << name;
  return made.store->parameters()[0].value;
}

// With N = 4: N / pi (N / (2 n + 1) - 1) for n = 0, 1.
TEST(S4dStartTest, Inv) {
  const StateSpaceStart start = StartOf(S4dOptions::INV, 2);
  EXPECT_NEAR(start.frequency[0].item<double>(), 12 / std::numbers::pi, 1e-15);
  EXPECT_NEAR(start.frequency[1].item<double>(), 4 / (3 * std::numbers::pi), 1e-15);
  EXPECT_EQ(MaxDifference(at::real(start.input), Grid(2, 0, 1) * 0 + 1), 0);
}

// With N = 2 by hand: S = [[0, s], [-s, 0]] for s = sqrt(3) / 2 has the eigenvalue i s with the
// eigenvector (1, i) / sqrt(2), and B = (1 - i sqrt(3)) / sqrt(2).
TEST(S4dStartTest, LegsByHand) {
  const StateSpaceStart start = StartOf(S4dOptions::LEGS, 1);
  EXPECT_NEAR(start.frequency[0].item<double>(), std::sqrt(3.0) / 2, 1e-15);
  EXPECT_NEAR(at::real(start.input)[0].item<double>(), std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(at::imag(start.input)[0].item<double>(), -std::sqrt(1.5), 1e-15);
}

// Against numpy.linalg.eigh of the same matrix, largest frequency first.
TEST(S4dStartTest, Legs) {
  const StateSpaceStart four = StartOf(S4dOptions::LEGS, 2);
  EXPECT_NEAR(four.frequency[0].item<double>(), 4.60329301, 1e-8);
  EXPECT_NEAR(four.frequency[1].item<double>(), 0.55650112, 1e-8);
  EXPECT_NEAR(at::real(four.input)[0].item<double>(), 0.28701986, 1e-8);
  EXPECT_EQ(at::imag(four.input)[0].item<double>(), -2);  // -2.642473, cut off
  EXPECT_NEAR(at::imag(four.input)[1].item<double>(), -0.71926093, 1e-8);
  const StateSpaceStart many = StartOf(S4dOptions::LEGS, 32);
  EXPECT_NEAR(many.frequency[0].item<double>(), 1303.27384298, 1e-7);
  EXPECT_NEAR(many.frequency[1].item<double>(), 433.03075654, 1e-7);
  EXPECT_NEAR(at::real(many.input)[0].item<double>(), 0.01563441, 1e-8);
}

// Steps are log-uniform whatever makes them, and every state space starts as StartOf() says.
TEST(S4dStartTest, StartsWhereTheOptionsSay) {
  S4dOptions options = GoldenOptions();
  options.set_min_step(1e-4);
  options.set_max_step(0.1);
  MadeSizes sizes;
  sizes.model_width = 500;
  const MadeAttention made = MakeAttention("s4d", &options, sizes);
  const at::Tensor steps = at::log1p(at::exp(ValueOf(made, "raw_step").to(at::kDouble)));
  EXPECT_GE(steps.min().item<double>(), 1e-4 * (1 - 1e-5));
  EXPECT_LE(steps.max().item<double>(), 0.1 * (1 + 1e-5));
  const double middle = std::log(steps.median().item<double>());
  EXPECT_NEAR(middle, std::log(std::sqrt(1e-5)), 0.5);
  const StateSpaceStart start = StartOf(S4dOptions::LEGS, 2);
  for (int64_t group = 0; group < 2; ++group) {
    EXPECT_LT(MaxDifference(ValueOf(made, "frequency")[group], start.frequency), 1e-6);
    const at::Tensor b = ValueOf(made, "input")[group];
    EXPECT_LT(MaxDifference(b.select(1, 0), at::real(start.input)), 1e-6);
    EXPECT_LT(MaxDifference(b.select(1, 1), at::imag(start.input)), 1e-6);
  }
  EXPECT_EQ(ValueOf(made, "log_decay").sizes().vec(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(ValueOf(made, "read_out").sizes().vec(), (std::vector<int64_t>{2, 500, 2, 2}));
}

// B that is not trained is part of C: the first output is the same as with B apart.
TEST(S4dStartTest, AnInputThatIsNotTrainedIsPartOfTheReadOut) {
  S4dOptions options = GoldenOptions();
  const MadeAttention apart = MakeAttention("s4d", &options, GoldenSizes());
  options.set_train_input(false);
  const MadeAttention folded = MakeAttention("s4d", &options, GoldenSizes());
  EXPECT_EQ(apart.store->count() - folded.store->count(), 2 * 2 * 2);
  const AttentionCase c = GoldenCase();
  EXPECT_LT(MaxDifference(apart->Attend(c.input), folded->Attend(c.input)), 1e-5);
}

TEST(S4dOptionsTest, RefusesGroupsThatDoNotDivideTheWidth) {
  S4dOptions options = GoldenOptions();
  options.set_state_groups(4);
  ExpectRefused("s4d", options, "attention.options.state_groups: is 4, must divide model.width, 6",
                GoldenSizes());
}

}  // namespace
}  // namespace lra
