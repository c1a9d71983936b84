// Tests of methods that mix a layer's input without projections: against numbers that another
// program made in float64, and against values worked out by hand.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/attention/fnet.pb.h"
#include "models/attention/s4d.pb.h"
#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

// --- FNet ---

FnetOptions FnetWith(FnetOptions::Scaling scaling) {
  FnetOptions options;
  options.set_scaling(scaling);
  return options;
}

// clang-format off
const Golden kFnet = {"FNet on v (H as batch), unnormalised", {-0.64342052, 3.67247319, 3.67247319}, {0.80214753, 1.84208979, -4.98951482}, {1.7433157656, -18.2943721380, 0, 0, 168.44638981}};
// clang-format on

TEST(FnetGoldenTest, FastFormAndOracle) {
  AttentionCase c = GoldenCase();
  for (at::Tensor* t : {&c.input.q, &c.input.k, &c.input.v, &c.upstream}) *t = t->transpose(0, 1);
  const FnetOptions options = FnetWith(FnetOptions::NONE);
  ExpectGolden(kFnet, c, *MakeAttention("fnet", &options));
}

TEST(FnetTest, UnscaledItKeepsThePromisesToo) {
  ExpectKeepsPromises("fnet", FnetWith(FnetOptions::NONE));
}

// The channels of all heads are one axis of the transform, in the order of the layer's input.
TEST(FnetTest, JoinsTheHeads) {
  AttentionCase c = GoldenCase();
  const MadeAttention fnet = MakeAttention("fnet");
  const at::Tensor heads = fnet->Attend(c.input);
  c.input.v = c.input.v.transpose(1, 2).flatten(2).unsqueeze(1);  // one head
  const at::Tensor joined = fnet->Attend(c.input);
  EXPECT_LT(MaxDifference(heads.transpose(1, 2).flatten(2), joined.squeeze(1)), 1e-14);
}

// A constant input has the lowest frequency only. A transform that is real keeps the sum of squares
// under ORTHONORMAL.
TEST(FnetTest, ConstantInputIsOneFrequency) {
  AttentionInput input;
  input.v = at::full({1, 2, 6, 4}, 0.5, at::kDouble);
  at::Tensor expected = at::zeros({1, 2, 6, 4}, at::kDouble);
  expected[0][0][0][0] = 0.5 * std::sqrt(6.0 * 8);
  EXPECT_LT(MaxDifference(MakeAttention("fnet")->Attend(input), expected), 1e-14);
}

// --- S4D ---

S4dOptions S4dWith(int states, double min_step = 0.01, double max_step = 0.3) {
  S4dOptions options;
  options.set_state_size(states);
  options.set_min_step(min_step);
  options.set_max_step(max_step);
  return options;
}

MadeAttention MakeS4d(int states) {
  const S4dOptions options = S4dWith(states);
  MadeAttention made = MakeAttention("s4d", &options);
  for (const Parameter& p : made.store->parameters())
    at::Tensor(p.value).set_data(p.value.detach().to(at::kDouble));
  return made;
}

TEST(S4dTest, OptionsKeepThePromises) { ExpectKeepsPromises("s4d", S4dWith(6, 0.5, 1)); }

// One channel and one pair of states, worked out by hand: y_i = 2 Re sum_l w e^(l r) u_(i-l) + skip
// u_i.
TEST(S4dTest, OneImpulseByHand) {
  MadeSizes sizes;
  sizes.heads = sizes.head_width = sizes.model_width = 1;
  const S4dOptions options = S4dWith(2);
  const MadeAttention made = MakeAttention("s4d", &options, sizes);
  const auto set = [&](const char* name, std::vector<double> values, std::vector<int64_t> shape) {
    made.SetParameter(name, at::tensor(values, at::kDouble).view(shape));
  };
  set("log_step", {std::log(0.5)}, {1});
  set("log_decay", {std::log(2.0)}, {1, 1});
  set("frequency", {0}, {1, 1});
  set("read_out", {1, 0, 3, 0}, {2, 1, 1, 2});
  set("skip", {0.25}, {1});
  set("output.weight", {1, 0}, {2, 1});
  set("output.bias", {0, 0}, {2});  // the gate is 1/2
  AttentionInput input;
  input.v = at::zeros({1, 1, 5, 1}, at::kDouble);
  input.v[0][0][2] = 1;
  // Here A = -2, r = -1 and w = C (1 - 1/e) / 2, so K_0[l] = (1 - 1/e) e^-l, and K_1[l] is three
  // times that.
  const double w = 1 - std::exp(-1.0);
  const at::Tensor y = at::tensor(std::vector<double>{3 * w * std::exp(-1.0), 3 * w, w + 0.25,
                                                      w * std::exp(-1.0), w * std::exp(-2.0)},
                                  at::kDouble);
  const at::Tensor expected = (at::gelu(y) * 0.5).view({1, 1, 5, 1});
  EXPECT_LT(MaxDifference(made->Attend(input), expected), 1e-14);
  EXPECT_LT(MaxDifference(made->Oracle(input), expected), 1e-14);
  input.causal = true;
  EXPECT_LT(MaxDifference(made->Attend(input).slice(2, 0, 2), at::zeros({1, 1, 2, 1})), 1e-15);
}

TEST(S4dTest, StartsAsPublished) {
  MadeSizes sizes;
  sizes.model_width = 500;
  const S4dOptions options = S4dWith(4, 0.001, 0.1);
  const MadeAttention made = MakeAttention("s4d", &options, sizes);
  const at::Tensor steps = made.store->parameters()[0].value.detach();
  EXPECT_EQ(made.store->parameters()[0].name, "attention.log_step");
  EXPECT_GE(steps.min().item<double>(), std::log(0.001));
  EXPECT_LE(steps.max().item<double>(), std::log(0.1));
  // If the steps are uniform, the mean of 500 draws lies within four standard errors, and their
  // deviation near width / sqrt(12).
  const double width = std::log(100.0);
  EXPECT_NEAR(steps.mean().item<double>(), std::log(0.01), 4 * width / std::sqrt(12.0 * 500));
  EXPECT_NEAR(steps.std().item<double>(), width / std::sqrt(12.0), 0.1);
  const at::Tensor frequency = made.store->parameters()[2].value.detach();
  EXPECT_FLOAT_EQ(frequency[7][1].item<float>(), 3.14159265f);
  for (const Parameter& p : made.store->parameters())
    EXPECT_EQ(p.is_matrix, p.name == "attention.output.weight") << p.name;
}

TEST(S4dTest, RefusesImpossibleOptionsAndInputs) {
  ExpectRefused("s4d", S4dWith(3), "attention.options.state_size: is 3");
  ExpectRefused("s4d", S4dWith(0), "attention.options.state_size: 0 is out of range");
  ExpectRefused("s4d", S4dWith(4, 0.2, 0.1), "attention.options.min_step: is 0.2");
  EXPECT_THROW(MakeS4d(2)->Attend(AttentionCase(1, 1, 2, 7, 7, 3).input), c10::Error);
}

}  // namespace
}  // namespace lra
