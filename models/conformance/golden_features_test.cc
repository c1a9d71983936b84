// Golden values of the attentions of one feature map: fp64 numbers made by an independent
// implementation, of the inputs of golden_test.cc; and identities between methods.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include "models/attention/attention.h"
#include "models/attention/cosformer.pb.h"
#include "models/attention/cottention.pb.h"
#include "models/attention/identity.pb.h"
#include "models/attention/leaky_relu.pb.h"
#include "models/conformance/comparison.h"

namespace lra {
namespace {

struct Golden {
  const char* attention;
  bool masks_token_4;
  std::array<double, 3> first_row;  // O[0, 0, :]
  std::array<double, 3> last_row;   // O[0, N - 1, :]
  std::array<double, 5> sums;       // sum O, L, sum dQ^2, sum dK^2, sum dV^2
  double gradient_tolerance;        // relative
};

// clang-format off
const Golden kGolden[] = {
    {"relu", false, {-0.00800865, 0.11215680, -0.06450960}, {0.44568502, 0.28181332, -0.62789963}, {0.7971856217, -2.0771109623, 2.28741098, 8.55630753, 12.68800441}, 1e-7},
    // Some row sums are near the floor: the gradients are large and ill-conditioned.
    {"identity", false, {-8.68514518, -0.41202330, 8.95155085}, {-2.42846315, 8.96000066, -3.36488632}, {-34.9502251627, -48.7820937041, 878568.06268365, 76056716.20858370, 7590.93967124}, 1e-5},
    {"leaky_relu", false, {-0.02105634, 0.11912645, -0.05596834}, {0.44662247, 0.29736511, -0.63889254}, {0.8362154764, -2.1593966848, 2.42899468, 8.98057544, 12.99148366}, 1e-7},
};
// clang-format on

constexpr int64_t kTokens = 6;

template <class Formula>
at::Tensor Make(int64_t width, Formula formula) {
  at::Tensor t = at::empty({1, 2, kTokens, width}, at::kDouble);
  auto values = t.accessor<double, 4>();
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < kTokens; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        values[0][h][i][c] =
            formula(static_cast<double>(h), static_cast<double>(i), static_cast<double>(c));
      }
    }
  }
  return t;
}

// "Token 4 masked" here: as a key and as a query.
AttentionCase MakeCase(bool masks_token_4) {
  AttentionCase c(0, 1, 2, kTokens, kTokens, 4);
  c.input.q = Make(
      4, [](double h, double i, double d) { return std::sin(1 + 0.9 * i + 1.7 * d + 0.6 * h); });
  c.input.k = Make(
      4, [](double h, double j, double d) { return std::cos(0.5 + 1.1 * j - 0.8 * d + 0.4 * h); });
  c.input.v = Make(
      3, [](double h, double j, double d) { return std::sin(0.3 + 0.7 * j + 1.9 * d - 0.5 * h); });
  c.upstream = Make(
      3, [](double h, double i, double d) { return std::cos(0.2 + 0.5 * i + 1.3 * d + 0.9 * h); });
  if (masks_token_4) {
    c.input.keep = at::ones({1, kTokens}, at::kBool);
    c.input.keep[0][4] = false;
    c.upstream.select(2, 4).zero_();
  }
  return c;
}

void ExpectNear(const at::Tensor& actual, double expected, double tolerance, const char* what) {
  EXPECT_NEAR(actual.item<double>(), expected, 1e-8 + tolerance * std::abs(expected)) << what;
}

void ExpectGolden(const Golden& golden, const AttentionCase& c, const AttentionOutcome& outcome) {
  SCOPED_TRACE(golden.attention);
  constexpr double kTolerance = 1e-7;
  const at::Tensor output = RealRows(outcome.output, c);
  for (int d = 0; d < 3; ++d) {
    ExpectNear(output[0][0][0][d], golden.first_row[d], kTolerance, "first row");
    ExpectNear(output[0][0][-1][d], golden.last_row[d], kTolerance, "last row");
  }
  ExpectNear(output.sum(), golden.sums[0], kTolerance, "sum of O");
  ExpectNear((output * c.upstream).sum(), golden.sums[1], kTolerance, "L");
  ExpectNear(outcome.dq.square().sum(), golden.sums[2], golden.gradient_tolerance, "dQ");
  ExpectNear(outcome.dk.square().sum(), golden.sums[3], golden.gradient_tolerance, "dK");
  ExpectNear(outcome.dv.square().sum(), golden.sums[4], golden.gradient_tolerance, "dV");
}

std::unique_ptr<Attention> MakeAttention(const char* name,
                                         const google::protobuf::Message* options = nullptr,
                                         ParameterStore* parameters = nullptr) {
  AttentionContext context;
  context.heads = 2;
  context.head_width = 4;
  context.max_length_tokens = kTokens;
  context.parameters = parameters;
  context.scope = "attention.";
  if (options != nullptr) context.options.PackFrom(*options);
  auto attention = AttentionRegistry::Get().Create("attention", name, context);
  EXPECT_TRUE(attention.ok()) << attention.status();
  return *std::move(attention);
}

TEST(GoldenFeaturesTest, FastFormAndOracle) {
  for (const Golden& golden : kGolden) {
    const std::unique_ptr<Attention> attention = MakeAttention(golden.attention);
    const AttentionCase c = MakeCase(golden.masks_token_4);
    ExpectGolden(golden, c, RunAttention(*attention, Form::kFast, c));
    ExpectGolden(golden, c, RunAttention(*attention, Form::kOracle, c));
  }
}

// With M far beyond the sequence all cosines are 1, up to (pi N / 2M)^2 / 2.
TEST(ReluTest, IsTheLimitOfCosformer) {
  CosformerOptions options;
  options.set_scale_tokens(1 << 20);
  const AttentionCase c = MakeCase(false);
  const at::Tensor relu = MakeAttention("relu")->Attend(c.input),
                   cosformer = MakeAttention("cosformer", &options)->Attend(c.input);
  EXPECT_LT(MaxDifference(relu, cosformer), 1e-9);
}

// Features are homogeneous: the lengths of q and k do not matter, and gradients are orthogonal to
// q.
TEST(ReluTest, DoesNotDependOnTheLengthsOfQueriesAndKeys) {
  const std::unique_ptr<Attention> relu = MakeAttention("relu");
  AttentionCase c = MakeCase(false);
  const AttentionOutcome outcome = RunAttention(*relu, Form::kFast, c);
  EXPECT_LT((outcome.dq * c.input.q).sum(-1).abs().max().item<double>(), 1e-13);
  c.input.q = c.input.q * 3;
  c.input.k = c.input.k * 0.25;
  EXPECT_LT(MaxDifference(relu->Attend(c.input), outcome.output), 1e-13);
}

// LeakyReLU with slope 0 is ReLU, with slope 1 the identity.
TEST(LeakyReluTest, SlopesZeroAndOneAreTheOtherTwo) {
  const AttentionCase c = MakeCase(true);
  LeakyReluOptions options;
  for (const auto& [slope, other] : {std::pair(0.0, "relu"), std::pair(1.0, "identity")}) {
    options.set_slope(slope);
    // At a row's every quotient: ReLU has no floor to speak of.
    options.set_floor_ratio(slope == 0 ? 0.0 : 0.01);
    const auto leaky = MakeAttention("leaky_relu", &options);
    const AttentionOutcome expected = RunAttention(*MakeAttention(other), Form::kFast, c);
    EXPECT_LT(OutcomeDifference(RunAttention(*leaky, Form::kFast, c), expected, c), 1e-12) << other;
  }
}

// One product chain: o = q (k^T v) / number of keys.
TEST(IdentityTest, DividedByTheKeysItIsTwoProducts) {
  IdentityOptions options;
  options.set_normalizer(SignedNormalizer::KEY_COUNT);
  const auto identity = MakeAttention("identity", &options);
  AttentionCase c = MakeCase(false);
  const AttentionInput& in = c.input;
  const at::Tensor product = at::matmul(in.q, at::matmul(in.k.transpose(-1, -2), in.v));
  EXPECT_LT(MaxDifference(identity->Attend(in), product / 6), 1e-14);

  c = MakeCase(true);
  const AttentionOutcome fast = RunAttention(*identity, Form::kFast, c),
                         oracle = RunAttention(*identity, Form::kOracle, c);
  EXPECT_LT(OutcomeDifference(fast, oracle, c), 1e-13);
}

// One query and two keys of width 2, k_1 + k_2 = (s, t): the row sum is q . (s, t).
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
  // |q| = 2, |k_1 + k_2| = 1: the floor is 0.02. w = (q0, -q0 + q1).
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

// Cottention and its m, at the plain cosine.
struct CottentionUnderTest {
  ParameterStore parameters{1};
  std::unique_ptr<Attention> attention;

  explicit CottentionUnderTest(double exponent) {
    CottentionOptions options;
    options.set_initial_exponent(exponent);
    options.set_norm_epsilon(0);
    attention = MakeAttention("cottention", &options, &parameters);
  }
  const Parameter& exponent() const { return parameters.parameters().at(0); }
};

TEST(CottentionTest, GoldenValues) {
  const std::pair<Golden, double> cases[] = {
      {{"cottention",
        false,
        {-0.54082500, -0.02593262, 0.55759249},
        {-0.06267595, 0.23552197, -0.08960764},
        {0.1130892405, -1.7735140889, 4.87897961, 8.41927096, 2.80575176},
        1e-7},
       0.74677380},
      {{"cottention",
        true,
        {-0.61381380, 0.15529383, 0.51340405},
        {-0.06771525, 0.20633384, -0.06569591},
        {-0.0593843500, -1.0735092370, 3.96104662, 6.34695328, 1.96365547},
        1e-7},
       0.40602683},
  };
  for (const auto& [golden, exponent_gradient] : cases) {
    const AttentionCase c = MakeCase(golden.masks_token_4);
    for (const Form form : {Form::kFast, Form::kOracle}) {
      const CottentionUnderTest cottention(0.5);
      ExpectGolden(golden, c, RunAttention(*cottention.attention, form, c));
      // m is float32, and so is its gradient.
      ExpectNear(cottention.exponent().value.grad().to(at::kDouble).sum(), exponent_gradient, 2e-7,
                 "dm");
    }
  }
}

TEST(CottentionTest, OwnsOneNumberAHeadThatIsNoMatrix) {
  const CottentionUnderTest cottention(0.5);
  EXPECT_EQ(cottention.exponent().name, "attention.length_exponent");
  EXPECT_EQ(cottention.parameters.count(), 2);
  EXPECT_FALSE(cottention.exponent().is_matrix);
}

// sigmoid(m) = 0 divides by nothing, 1 by the number of keys.
TEST(CottentionTest, LargeExponentsAreTheTwoLimits) {
  AttentionCase c = MakeCase(false);
  c.input.q = at::ones({1, 2, kTokens, 4}, at::kDouble);
  c.input.k = 3 * c.input.q;  // cosines are 1
  c.input.v = at::full({1, 2, kTokens, 3}, 0.7, at::kDouble);
  const auto first = [&](double exponent) {
    return CottentionUnderTest(exponent).attention->Attend(c.input)[0][1][3][2].item<double>();
  };
  EXPECT_NEAR(first(20), 0.7, 1e-7);
  EXPECT_NEAR(first(-20), 6 * 0.7, 1e-7);
}

TEST(CottentionTest, DoesNotDependOnTheLengthsOfQueriesAndKeysAndIsBounded) {
  const CottentionUnderTest cottention(0.5);
  AttentionCase c = MakeCase(true);
  const at::Tensor output = RealRows(cottention.attention->Attend(c.input), c);
  c.input.q = c.input.q * 7;
  c.input.k = c.input.k * 0.01;
  EXPECT_LT(MaxDifference(RealRows(cottention.attention->Attend(c.input), c), output), 1e-13);
  // |o_i| <= s^(1 - sigmoid(m)) max |v_j|.
  const double bound = std::pow(5.0, 1 - 1 / (1 + std::exp(-0.5)));
  EXPECT_LE(output.norm(2, -1).max().item<double>(),
            bound * c.input.v.norm(2, -1).max().item<double>());
}

// Rows without a direction are 0 and have no gradient, also without an epsilon.
TEST(CottentionTest, ZeroRowsHaveNoWeightAndNoGradient) {
  const CottentionUnderTest cottention(0.5);
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttentionCase c(1, 1, 2, kTokens, kTokens, 4, type);
    c.input.q[0][0][1].zero_();
    c.input.k[0][1][2].zero_();
    const AttentionOutcome outcome = RunAttention(*cottention.attention, Form::kFast, c);
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
