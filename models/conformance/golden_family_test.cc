// Golden values of the factorised family, and identities between its points.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "models/attention/cosformer.pb.h"
#include "models/attention/cottention.pb.h"
#include "models/attention/identity.pb.h"
#include "models/attention/leaky_relu.pb.h"
#include "models/attention/performer.pb.h"
#include "models/attention/rfa.pb.h"
#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

AttentionCase Causal(AttentionCase c) {
  c.input.causal = true;
  return c;
}

// clang-format off
const Golden kLinear = {"linear elu+1 (+eps 1e-6)", {0.31516617, -0.11340010, -0.24184403}, {0.39767679, -0.05692852, -0.36086799}, {-0.1103269917, -0.1773809369, 0.09043457, 0.51186447, 7.79415847}};
const Golden kLinearCausal = {"linear elu+1 causal", {0.29552017, 0.80849629, -0.81827700}, {0.39767679, -0.05692852, -0.36086799}, {1.7126331058, -1.9977564656, 0.02715655, 0.21868350, 15.45116895}};
const Golden kLinearMasked = {"linear elu+1 key 4 masked", {0.35114133, -0.00221779, -0.34970735}, {0.43010653, 0.02521642, -0.44641094}, {0.3571621244, -0.5928903176, 0.08976326, 0.58621007, 9.09661814}};
const Golden kRelu = {"phi=ReLU (clamp 1e-6)", {-0.00800865, 0.11215680, -0.06450960}, {0.44568502, 0.28181332, -0.62789963}, {0.7971856217, -2.0771109623, 2.28741098, 8.55630753, 12.68800441}};
const Golden kReluCausal = {"phi=ReLU causal", {0.29552021, 0.80849640, -0.81827711}, {0.44568502, 0.28181332, -0.62789963}, {2.1636132789, -1.9773805685, 0.56494760, 2.24188027, 17.29323543}};
// Some row sums are near the floor, so the gradients are large and ill-conditioned.
const Golden kIdentity = {"phi=identity, signed floor", {-8.68514518, -0.41202330, 8.95155085}, {-2.42846315, 8.96000066, -3.36488632}, {-34.9502251627, -48.7820937041, 878568.06268365, 76056716.20858370, 7590.93967124}, 1e-5};
const Golden kIdentityCausal = {"phi=identity causal, signed floor", {0.29552021, 0.80849640, -0.81827711}, {-2.42846315, 8.96000066, -3.36488632}, {-16.1638456365, 7.1266229929, 204576.87750254, 1015604.80357825, 2892.90908995}, 1e-5};
const Golden kLeakyRelu = {"phi=LeakyReLU(0.01), signed floor", {-0.02105634, 0.11912645, -0.05596834}, {0.44662247, 0.29736511, -0.63889254}, {0.8362154764, -2.1593966848, 2.42899468, 8.98057544, 12.99148366}};
const Golden kCosformer = {"cosFormer M=6", {0.23932647, 0.43805518, -0.52256381}, {0.34281439, 0.04291427, -0.37056186}, {0.7577308773, -0.3071099920, 2.47099801, 10.01062436, 13.10895253}};
const Golden kCosformer16 = {"cosFormer M=16", {0.02027925, 0.14910238, -0.11668574}, {0.43761715, 0.26093329, -0.60633117}, {0.7981667296, -1.8876840716, 2.30048379, 8.69028480, 12.56901017}};
const Golden kCosformerMasked = {"cosFormer M=6, key 4 masked", {0.24847975, 0.50271872, -0.57352718}, {0.34281439, 0.04291427, -0.37056186}, {0.9240560255, -0.3840295378, 2.66453716, 9.68204451, 13.47422712}};
const Golden kCosformerCausal = {"cosFormer causal M=6", {0.29552021, 0.80849640, -0.81827711}, {0.34281439, 0.04291427, -0.37056186}, {1.8210743154, -1.3489637030, 0.82091334, 3.30331998, 18.39454313}};
const Golden kCosformerWide = {"cosFormer cross Nq=3 Nk=6 M=6", {0.23932647, 0.43805518, -0.52256381}, {0.67096903, -0.16461764, -0.56453070}, {0.4411747220, 1.8359386517, 1.46132448, 2.19787961, 5.67748515}};
const Golden kCosformerTall = {"cosFormer cross Nq=6 Nk=3 M=6", {0.40499190, 0.69435344, -0.85394634}, {0.71936492, 0.27704731, -0.89849793}, {1.9590569364, -1.7325072842, 1.13854396, 3.23458876, 17.20016803}};
const Golden kFavorCausal = {"FAVOR+ causal", {0.29552021, 0.80849640, -0.81827711}, {0.35860353, -0.31305215, -0.15619054}, {1.2981873541, -1.6638543551, 0.34414033, 1.53875131, 15.70055501}};
const Golden kRfa = {"RFA Gaussian D=8 tau=1", {0.46609779, -0.30810531, -0.26688332}, {0.41425688, -0.32011181, -0.20727926}, {-0.8892453104, 0.8216159066, 1.90678548, 2.98594304, 7.00680609}};
const Golden kRfaCausal = {"RFA Gaussian causal", {0.29552021, 0.80849640, -0.81827711}, {0.41425688, -0.32011181, -0.20727926}, {1.3384788361, -1.8347600182, 0.77666437, 1.29280997, 15.97274043}};
const Golden kRfaArcCosine = {"RFA arccos D=8", {0.78612489, -0.37077984, -0.54638638}, {0.41177101, -0.40831538, -0.14776281}, {-1.2595960207, 2.1534070798, 16.64553880, 59.72490148, 9.73369183}};
const Golden kRfaGated = {"RFA Gaussian gated causal", {0.29552021, 0.80849640, -0.81827711}, {0.05901604, -0.57074194, 0.31001378}, {0.5268572715, 0.1980989132, 1.01166159, 1.48182559, 16.74593981}};
const Golden kRfaArcCosineGated = {"RFA arccos gated causal", {0.29552021, 0.80849640, -0.81827711}, {-0.00542198, -0.58333365, 0.38259334}, {1.2878354348, -1.1507959331, 10.11722867, 36.32791494, 21.42235537}};
// clang-format on

TEST(GoldenFamilyTest, FeatureMaps) {
  ExpectGolden(kLinear, GoldenCase(), *MakeAttention("linear"));
  ExpectGolden(kLinearCausal, Causal(GoldenCase()), *MakeAttention("linear"));
  ExpectGolden(kLinearMasked, GoldenCaseWithoutKey4(), *MakeAttention("linear"));
  ExpectGolden(kRelu, GoldenCase(), *MakeAttention("relu"));
  ExpectGolden(kReluCausal, Causal(GoldenCase()), *MakeAttention("relu"));
  ExpectGolden(kIdentity, GoldenCase(), *MakeAttention("identity"));
  ExpectGolden(kIdentityCausal, Causal(GoldenCase()), *MakeAttention("identity"));
  ExpectGolden(kLeakyRelu, GoldenCase(), *MakeAttention("leaky_relu"));
}

TEST(GoldenFamilyTest, Cosformer) {
  const MadeAttention six = MakeAttention("cosformer");  // M is the longest sequence, 6
  CosformerOptions sixteen;
  sixteen.set_scale_tokens(16);
  ExpectGolden(kCosformer, GoldenCase(), *six);
  ExpectGolden(kCosformer16, GoldenCase(), *MakeAttention("cosformer", &sixteen));
  ExpectGolden(kCosformerMasked, GoldenCaseWithoutKey4(), *six);
  ExpectGolden(kCosformerCausal, Causal(GoldenCase()), *six);
  ExpectGolden(kCosformerWide, GoldenCase(3, 6), *six);
  ExpectGolden(kCosformerTall, GoldenCase(6, 3), *six);
}

// The random directions of the golden values, [8, 4].
at::Tensor GoldenProjection() {
  return 1.5 * at::sin(0.37 + 1.13 * Grid(8, 0, 2) + 2.71 * Grid(kGoldenWidth, 1, 2));
}

TEST(GoldenFamilyTest, PerformerCausal) {
  PerformerOptions options;
  options.set_features(8);
  const MadeAttention performer = MakeAttention("performer", &options);
  performer.SetBuffer("projection", GoldenProjection());
  ExpectGolden(kFavorCausal, Causal(GoldenCase()), *performer);
}

MadeAttention MakeRfa(RfaOptions::Kernel kernel, bool is_gated) {
  RfaOptions options;
  options.set_kernel(kernel);
  options.set_features(8);
  options.set_is_gated(is_gated);
  MadeSizes sizes;
  sizes.model_width = kGoldenTokens;
  MadeAttention made = MakeAttention("rfa", &options, sizes);
  made.SetBuffer("projection", GoldenProjection());
  if (is_gated) {  // with the layer input below, sigmoid(1 + 0.4 sin(t + h))
    made.SetParameter("gate.weight", 0.4 * at::sin(Grid(2, 0, 2) + Grid(kGoldenTokens, 1, 2)));
    made.SetParameter("gate.bias", at::ones({2}, at::kDouble));
  }
  return made;
}

TEST(GoldenFamilyTest, Rfa) {
  ExpectGolden(kRfa, GoldenCase(), *MakeRfa(RfaOptions::GAUSSIAN, false));
  ExpectGolden(kRfaCausal, Causal(GoldenCase()), *MakeRfa(RfaOptions::GAUSSIAN, false));
  ExpectGolden(kRfaArcCosine, GoldenCase(), *MakeRfa(RfaOptions::ARC_COSINE, false));
  AttentionCase c = GoldenCase();
  c.input.x = at::eye(kGoldenTokens, at::kDouble).unsqueeze(0);
  ExpectGolden(kRfaGated, c, *MakeRfa(RfaOptions::GAUSSIAN, true));
  ExpectGolden(kRfaArcCosineGated, c, *MakeRfa(RfaOptions::ARC_COSINE, true));
}

// If M is far beyond the sequence, all cosines are 1 up to (pi N / 2M)^2 / 2.
TEST(ReluTest, IsTheLimitOfCosformer) {
  CosformerOptions options;
  options.set_scale_tokens(1 << 20);
  const AttentionCase c = GoldenCase();
  const at::Tensor relu = MakeAttention("relu")->Attend(c.input),
                   cosformer = MakeAttention("cosformer", &options)->Attend(c.input);
  EXPECT_LT(MaxDifference(relu, cosformer), 1e-9);
}

// The features are homogeneous, so the norms of q and k do not matter, and gradients are orthogonal
// to q.
TEST(ReluTest, DoesNotDependOnTheLengthsOfQueriesAndKeys) {
  const MadeAttention relu = MakeAttention("relu");
  AttentionCase c = GoldenCase();
  const AttentionOutcome outcome = RunAttention(*relu, Form::kFast, c);
  EXPECT_LT((outcome.dq * c.input.q).sum(-1).abs().max().item<double>(), 1e-13);
  c.input.q = c.input.q * 3;
  c.input.k = c.input.k * 0.25;
  EXPECT_LT(MaxDifference(relu->Attend(c.input), outcome.output), 1e-13);
}

// LeakyReLU with slope 0 is ReLU, and with slope 1 the identity.
TEST(LeakyReluTest, SlopesZeroAndOneAreTheOtherTwo) {
  const AttentionCase c = GoldenCaseWithoutToken4();
  LeakyReluOptions options;
  for (const auto& [slope, other] : {std::pair(0.0, "relu"), std::pair(1.0, "identity")}) {
    options.set_slope(slope);
    // Applies to every quotient of a row, because ReLU has practically no floor.
    options.set_floor_ratio(slope == 0 ? 0.0 : 0.01);
    const auto leaky = MakeAttention("leaky_relu", &options);
    const AttentionOutcome expected = RunAttention(*MakeAttention(other), Form::kFast, c);
    EXPECT_LT(OutcomeDifference(RunAttention(*leaky, Form::kFast, c), expected, c), 1e-12) << other;
  }
}

// A single chain of products: o = q (k^T v) / number of keys.
TEST(IdentityTest, DividedByTheKeysItIsTwoProducts) {
  IdentityOptions options;
  options.set_normalizer(SignedNormalizer::KEY_COUNT);
  const auto identity = MakeAttention("identity", &options);
  AttentionCase c = GoldenCase();
  const AttentionInput& in = c.input;
  const at::Tensor product = at::matmul(in.q, at::matmul(in.k.transpose(-1, -2), in.v));
  EXPECT_LT(MaxDifference(identity->Attend(in), product / 6), 1e-14);

  c = GoldenCaseWithoutToken4();
  const AttentionOutcome fast = RunAttention(*identity, Form::kFast, c),
                         oracle = RunAttention(*identity, Form::kOracle, c);
  EXPECT_LT(OutcomeDifference(fast, oracle, c), 1e-13);
}

// One query and two keys of width 2 with k_1 + k_2 = (s, t), so the row sum is q . (s, t).
struct SignedRow {
  at::Tensor output, dq;
};
SignedRow RunSignedRow(double q0, double q1, double s, double t) {
  const auto at_ = [](double a, double b) { return at::tensor({a, b}, at::kDouble); };
  AttentionCase c(0, 1, 1, 1, 2, 2);
  c.input.q = at_(q0, q1).view({1, 1, 1, 2});
  c.input.k = at::stack({at_(1, 0), at_(s - 1, t)}).view({1, 1, 2, 2});
  c.input.v = at::stack({at_(3, 5), at_(7, 11)}).view({1, 1, 2, 2});
  c.upstream = at_(1, 0).view({1, 1, 1, 2});
  const auto identity = MakeAttention("identity");
  const AttentionOutcome fast = RunAttention(*identity, Form::kFast, c),
                         oracle = RunAttention(*identity, Form::kOracle, c);
  EXPECT_LT(OutcomeDifference(fast, oracle, c), 1e-12);
  return {fast.output.view({2}), fast.dq.view({2})};
}

TEST(IdentityTest, FloorsRowSumsNearZeroAndKeepsTheirSign) {
  // |q| = 2 and |k_1 + k_2| = 1, so the floor is 0.02. w = (q0, -q0 + q1).
  const auto expect = [](double q0, double q1, double safe_sum, double slope_of_first) {
    const SignedRow row = RunSignedRow(q0, q1, 0, 1);
    EXPECT_NEAR(row.output[0].item<double>(), (3 * q0 + 7 * (q1 - q0)) / safe_sum, 1e-9);
    EXPECT_NEAR(row.output[1].item<double>(), (5 * q0 + 11 * (q1 - q0)) / safe_sum, 1e-9);
    EXPECT_NEAR(row.dq[0].item<double>(), slope_of_first, 1e-9);
  };
  // The sum is q1; d(numerator of v_0)/dq0 = 3 - 7, and q1 does not depend on q0.
  expect(2, 0, 0.02, -4 / 0.02);
  expect(std::sqrt(4 - 1e-6), 1e-3, 0.02, -4 / 0.02);
  expect(std::sqrt(4 - 1e-6), -1e-3, -0.02, 4 / 0.02);
  expect(std::sqrt(4 - 0.25), -0.5, -0.5, 4 / 0.5);
}

TEST(IdentityTest, AFlooredRowSumHasNoGradient) {
  // d o_0 / d q1 = 7 / safe, and where the sum is not floored - o_0 / sum besides.
  const double q0 = std::sqrt(4 - 1e-6);
  EXPECT_NEAR(RunSignedRow(q0, 1e-3, 0, 1).dq[1].item<double>(), 7 / 0.02, 1e-9);
  const double o0 = (3 * q0 + 7 * (0.5 - q0)) / 0.5;
  EXPECT_NEAR(RunSignedRow(q0, 0.5, 0, 1).dq[1].item<double>(), (7 - o0) / 0.5, 1e-9);
}

// Cottention without the epsilon of its norm.
MadeAttention MakeCottention(double exponent, bool scales_values = false) {
  CottentionOptions options;
  options.set_initial_exponent(exponent);
  options.set_norm_epsilon(0);
  if (scales_values) options.set_causal_scaling(CottentionOptions::VALUE);
  return MakeAttention("cottention", &options);
}

// clang-format off
const Golden kCottention = {"Cottention bidir m=0.5 s=6", {-0.54082500, -0.02593262, 0.55759249}, {-0.06267595, 0.23552197, -0.08960764}, {0.1130892405, -1.7735140889, 4.87897961, 8.41927096, 2.80575176}};
const Golden kCottentionRow = {"Cottention causal, row scaling", {0.11978550, 0.32771414, -0.33167863}, {-0.06267595, 0.23552197, -0.08960764}, {-0.1068025261, 0.3693614573, 4.53081792, 7.26085686, 2.59830907}};
const Golden kCottentionValue = {"Cottention causal, value scaling", {0.11978550, 0.32771414, -0.33167863}, {0.01241641, 0.46674287, -0.31420261}, {-0.1469554377, 0.2680200245, 9.17601410, 16.82750310, 5.56410703}};
const Golden kCottentionMasked = {"Cottention bidir key+query 4 masked s=5", {-0.61381380, 0.15529383, 0.51340405}, {-0.06771525, 0.20633384, -0.06569591}, {-0.0593843500, -1.0735092370, 3.96104662, 6.34695328, 1.96365547}};
// clang-format on

// Also compares the gradient of m, summed over the heads.
void ExpectGoldenCottention(const Golden& golden, double exponent_gradient, const AttentionCase& c,
                            bool scales_values) {
  for (const Form form : {Form::kFast, Form::kOracle}) {
    const MadeAttention cottention = MakeCottention(0.5, scales_values);
    ExpectGoldenOutcome(golden, c, RunAttention(*cottention, form, c));
    // m is float32, and so is its gradient.
    ExpectNear(cottention.store->parameters()[0].value.grad().to(at::kDouble).sum(),
               exponent_gradient, 2e-7, "dm");
  }
}

TEST(CottentionTest, GoldenValues) {
  ExpectGoldenCottention(kCottention, 0.74677380, GoldenCase(), false);
  ExpectGoldenCottention(kCottentionMasked, 0.40602683, GoldenCaseWithoutToken4(), false);
  ExpectGoldenCottention(kCottentionRow, -0.02755851, Causal(GoldenCase()), false);
  ExpectGoldenCottention(kCottentionValue, -0.03675097, Causal(GoldenCase()), true);
}

TEST(CottentionTest, OwnsOneNumberAHeadThatIsNoMatrix) {
  const MadeAttention cottention = MakeCottention(0.5);
  EXPECT_EQ(cottention.store->parameters()[0].name, "attention.length_exponent");
  EXPECT_EQ(cottention.store->count(), 2);
  EXPECT_FALSE(cottention.store->parameters()[0].is_matrix);
}

// sigmoid(m) = 0 divides by 1, and sigmoid(m) = 1 by the number of keys.
TEST(CottentionTest, LargeExponentsAreTheTwoLimits) {
  AttentionCase c = GoldenCase();
  c.input.q = at::ones({1, 2, kGoldenTokens, 4}, at::kDouble);
  c.input.k = 3 * c.input.q;  // all cosines are 1
  c.input.v = at::full({1, 2, kGoldenTokens, 3}, 0.7, at::kDouble);
  const auto first = [&](double exponent) {
    return MakeCottention(exponent)->Attend(c.input)[0][1][3][2].item<double>();
  };
  EXPECT_NEAR(first(20), 0.7, 1e-7);
  EXPECT_NEAR(first(-20), 6 * 0.7, 1e-7);
}

TEST(CottentionTest, DoesNotDependOnTheLengthsOfQueriesAndKeysAndIsBounded) {
  const MadeAttention cottention = MakeCottention(0.5);
  AttentionCase c = GoldenCaseWithoutToken4();
  const at::Tensor output = RealRows(cottention->Attend(c.input), c);
  c.input.q = c.input.q * 7;
  c.input.k = c.input.k * 0.01;
  EXPECT_LT(MaxDifference(RealRows(cottention->Attend(c.input), c), output), 1e-13);
  // |o_i| <= s^(1 - sigmoid(m)) max |v_j|.
  const double bound = std::pow(5.0, 1 - 1 / (1 + std::exp(-0.5)));
  EXPECT_LE(output.norm(2, -1).max().item<double>(),
            bound * c.input.v.norm(2, -1).max().item<double>());
}

// Rows of zeros have no direction: their weights are 0 and they have no gradient, also without an
// epsilon.
TEST(CottentionTest, ZeroRowsHaveNoWeightAndNoGradient) {
  const MadeAttention cottention = MakeCottention(0.5);
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttentionCase c(1, 1, 2, kGoldenTokens, kGoldenTokens, 4, type);
    c.input.q[0][0][1].zero_();
    c.input.k[0][1][2].zero_();
    const AttentionOutcome outcome = RunAttention(*cottention, Form::kFast, c);
    EXPECT_TRUE(outcome.dq.isfinite().all().item<bool>());
    EXPECT_TRUE(outcome.dk.isfinite().all().item<bool>());
    for (const at::Tensor& row :
         {outcome.output[0][0][1], outcome.dq[0][0][1], outcome.dk[0][1][2], outcome.dv[0][1][2]}) {
      EXPECT_TRUE(at::equal(row, at::zeros_like(row)));
    }
  }
}

}  // namespace
}  // namespace lra
