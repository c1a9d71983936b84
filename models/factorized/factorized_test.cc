#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/attention/factorized.pb.h"
#include "models/attention/rfa.pb.h"
#include "models/conformance/golden_test_util.h"

namespace lra {
namespace {

AttentionCase Causal(AttentionCase c) {
  c.input.causal = true;
  return c;
}

// --- the axes ---

FactorizedOptions Point(FactorizedOptions::FeatureMap feature,
                        FactorizedOptions::Reweighting reweighting,
                        FactorizedOptions::Normalizer normalizer) {
  FactorizedOptions options;
  options.set_feature_map(feature);
  options.set_reweighting(reweighting);
  options.set_normalizer(normalizer);
  return options;
}

// The same function, forward and backward, with and without a mask, causal or not.
void ExpectSame(const FactorizedOptions& options, const char* name) {
  const MadeAttention point = MakeAttention("factorized", &options), named = MakeAttention(name);
  for (const AttentionCase& c : {GoldenCase(), GoldenCaseWithoutToken4(), Causal(GoldenCase())}) {
    EXPECT_EQ(OutcomeDifference(RunAttention(*point, Form::kFast, c),
                                RunAttention(*named, Form::kFast, c), c),
              0)
        << name;
  }
}

TEST(FactorizedTest, NamedMethodsArePointsOfTheFamily) {
  using O = FactorizedOptions;
  ExpectSame(Point(O::ELU_PLUS_ONE, O::NO_REWEIGHTING, O::SUM_PLUS), "linear");
  ExpectSame(Point(O::RELU, O::NO_REWEIGHTING, O::SUM_CLAMP), "relu");
  ExpectSame(Point(O::IDENTITY, O::NO_REWEIGHTING, O::SIGNED_FLOOR), "identity");
  ExpectSame(Point(O::LEAKY_RELU, O::NO_REWEIGHTING, O::SIGNED_FLOOR), "leaky_relu");
  ExpectSame(Point(O::RELU, O::COSINE, O::SUM_CLAMP), "cosformer");
  ExpectSame(Point(O::UNIT, O::NO_REWEIGHTING, O::LENGTH_POWER), "cottention");
  ExpectSame(O(), "cosformer");  // the config file's point
}

class FactorizedPointTest : public testing::TestWithParam<FactorizedOptions> {};

TEST_P(FactorizedPointTest, KeepsThePromises) { ExpectKeepsPromises("factorized", GetParam()); }

std::vector<FactorizedOptions> Points() {
  using O = FactorizedOptions;
  std::vector<O> points = {Point(O::SQUARED_RELU, O::COSINE, O::SUM_CLAMP),
                           Point(O::ELU_PLUS_ONE, O::DECAY, O::SUM_PLUS),
                           Point(O::IDENTITY, O::DECAY, O::SIGNED_FLOOR),
                           Point(O::UNIT, O::DECAY, O::LENGTH_POWER),
                           Point(O::RELU, O::DECAY, O::KEY_COUNT),
                           Point(O::IDENTITY, O::COSINE, O::SIGNED_FLOOR),
                           Point(O::UNIT, O::COSINE, O::NO_NORMALIZER)};
  O powers = Point(O::EXP, O::NO_REWEIGHTING, O::SUM_PLUS);
  powers.set_epsilon(0);
  points.push_back(powers);
  powers.set_reweighting(O::DECAY);  // behind 150 masked keys the row sums are subnormal in float32
  powers.set_half_life_tokens(1);
  points.push_back(powers);
  O stable = Point(O::POSITIVE_RANDOM, O::COSINE, O::SUM_PLUS);
  stable.set_epsilon(0);
  stable.set_random_features(7);
  points.push_back(stable);
  O learned = Point(O::ELU_PLUS_ONE, O::COSINE, O::SUM_PLUS);
  learned.set_scale(O::LEARNED);
  points.push_back(learned);
  O terms = Point(O::RELU, O::COSINE, O::SIGNED_FLOOR);
  terms.set_cosine_terms(3);
  terms.set_frequency_ratio(3);
  points.push_back(terms);
  O length = Point(O::RELU, O::COSINE, O::SUM_CLAMP);
  length.set_scale(O::LENGTH);
  points.push_back(length);
  points.push_back(Point(O::ELU_PLUS_ONE, O::LEARNED_DECAY, O::SUM_PLUS));
  points.push_back(Point(O::UNIT, O::LEARNED_DECAY, O::LENGTH_POWER));
  return points;
}

INSTANTIATE_TEST_SUITE_P(Axes, FactorizedPointTest, testing::ValuesIn(Points()));

// A decay that halves at once leaves the token itself; one that never halves is no re-weighting.
TEST(FactorizedTest, DecaysHaveTheTwoLimits) {
  using O = FactorizedOptions;
  O options = Point(O::ELU_PLUS_ONE, O::DECAY, O::SUM_PLUS);
  const AttentionCase c = GoldenCase();
  options.set_half_life_tokens(1 << 20);  // 5 tokens lose 3e-6 of their weight
  EXPECT_LT(MaxDifference(MakeAttention("factorized", &options)->Attend(c.input),
                          MakeAttention("linear")->Attend(c.input)),
            1e-5);
  options.set_half_life_tokens(0.1);  // a neighbour has 2^-10 of the token's own weight
  options.set_epsilon(0);
  EXPECT_LT(
      MaxDifference(MakeAttention("factorized", &options)->Attend(c.input)[0][0], c.input.v[0][0]),
      1e-2);
}

TEST(FactorizedTest, RefusesSumsThatMayVanish) {
  using O = FactorizedOptions;
  ExpectRefused("factorized", Point(O::IDENTITY, O::NO_REWEIGHTING, O::SUM_PLUS),
                "attention.options.normalizer: is SUM_PLUS");
  O signed_cosine = Point(O::RELU, O::COSINE, O::SUM_CLAMP);
  signed_cosine.set_cosine_terms(2);
  signed_cosine.set_frequency_ratio(2);
  ExpectRefused("factorized", signed_cosine, "attention.options.normalizer: is SUM_CLAMP");
  O few = Point(O::POSITIVE_RANDOM, O::NO_REWEIGHTING, O::SUM_PLUS);
  few.set_random_features(0);
  ExpectRefused("factorized", few, "attention.options.random_features: 0 is out of range");
}

// --- RFA ---

TEST(RfaTest, EveryKindKeepsThePromises) {
  for (const RfaOptions::Kernel kernel : {RfaOptions::GAUSSIAN, RfaOptions::ARC_COSINE}) {
    for (const bool is_gated : {false, true}) {
      RfaOptions options;
      options.set_kernel(kernel);
      options.set_is_gated(is_gated);
      // A gate leaves few keys in a row's sum, which few features let come near its floor: with 9
      // the rounding of inputs to bfloat16 moves outputs by 0.034.
      options.set_features(is_gated ? 33 : 9);
      ExpectKeepsPromises("rfa", options);
    }
  }
}

AttentionCase LongCase() {
  AttentionCase c(20, 1, 2, 150, 150, 4);
  c.input.k = c.input.q;  // each query and its own key have a product of 1
  return c;
}

RfaOptions ManyFeatures() {
  RfaOptions options;
  options.set_features(256);
  return options;
}

// Gates' and slopes' weights have a bounded sum, however many keys there are. Rows are averages all
// the same: of a constant value they are that value.
TEST(RfaTest, LongRowsAreAveragesUnderGatesAndSlopes) {
  RfaOptions gated = ManyFeatures();
  gated.set_is_gated(true);
  MadeSizes sizes, sloped;
  sizes.model_width = LayerInputWidth(sizes.heads, sizes.head_width);
  sloped.distance_slopes = {0.5, 0.0625};
  const RfaOptions plain = ManyFeatures();
  AttentionCase c = LongCase();
  c.input.v = at::ones_like(c.input.v);
  for (const MadeAttention& rfa :
       {MakeAttention("rfa", &gated, sizes), MakeAttention("rfa", &plain, sloped)}) {
    for (const bool causal : {false, true}) {
      c.input.causal = causal;
      for (const Form form : {Form::kFast, Form::kOracle})
        EXPECT_LT(MaxDifference(RunAttention(*rfa, form, c).output, c.input.v), 1e-12);
    }
  }
}

TEST(RfaTest, StreamsUnderSlopes) {
  const RfaOptions options = ManyFeatures();
  MadeSizes sizes;
  sizes.distance_slopes = {0.5, 0.0625};
  const MadeAttention rfa = MakeAttention("rfa", &options, sizes);
  const AttentionInput input = Causal(LongCase()).input;
  AttentionState state = rfa->InitState(1, input.q.options());
  std::vector<at::Tensor> outputs;
  for (const int64_t first : {0, 75}) {
    AttentionInput piece;
    piece.q = input.q.narrow(2, first, 75);
    piece.k = input.k.narrow(2, first, 75);
    piece.v = input.v.narrow(2, first, 75);
    outputs.push_back(rfa->Extend(piece, &state));
  }
  EXPECT_LT(MaxDifference(at::cat(outputs, 2), rfa->Attend(input)), 1e-10);
}

// E[phi(x) . phi(y)] = exp(-|x - y|^2 / 2): within four standard errors over independent draws.
TEST(RfaTest, GaussianFeaturesAreUnbiased) {
  constexpr int kFeatures = 20000;
  RfaOptions options;
  options.set_features(kFeatures);
  const MadeAttention rfa = MakeAttention("rfa", &options);
  const at::Tensor w = rfa.store->buffers()[0].value.to(at::kDouble);  // [M, 4]
  const at::Tensor x = at::tensor({0.5, -0.5, 0.5, 0.5}, at::kDouble),
                   y = at::tensor({0.1, 0.7, -0.7, 0.1}, at::kDouble);
  const at::Tensor products = at::cos(at::matmul(w, x - y));  // sin sin + cos cos
  const double expected = std::exp(-(x - y).square().sum().item<double>() / 2);
  const double error = products.std().item<double>() / std::sqrt(kFeatures);
  EXPECT_NEAR(products.mean().item<double>(), expected, 4 * error);
}

TEST(RfaTest, RefusesImpossibleOptions) {
  RfaOptions options;
  options.set_features(0);
  ExpectRefused("rfa", options, "attention.options.features: 0 is out of range");
  options.set_features(4);
  options.set_temperature(0);
  ExpectRefused("rfa", options, "attention.options.temperature: 0 is out of range");
}

}  // namespace
}  // namespace lra
