// The rows of the tables against features of drawn inputs.
#include "models/factorized/tables.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>

#include "lra/reflection.h"
#include "models/attention/factorized.pb.h"

namespace lra::factorized {
namespace {

constexpr int64_t kDirections = 6, kHeads = 2, kWidth = 4;

FactorizedSpec SpecOf(FactorizedFeature feature) {
  FactorizedSpec spec;
  spec.feature = feature;
  spec.leaky_slope = 0.01;
  spec.norm_epsilon = 1e-6;
  spec.feature_floor = 1e-3;
  spec.projection = at::randn({kDirections, kWidth}, at::kDouble);
  spec.projection_scale = at::ones({kHeads, kWidth}, at::kDouble);
  return spec;
}

class FeatureRowTest : public testing::TestWithParam<FactorizedFeature> {
 protected:
  FeatureRowTest() {
    at::manual_seed(1);
    spec_ = SpecOf(GetParam());
    x_ = at::randn({2, kHeads, 300, kWidth}, at::kDouble);
    phi_ = row_.phi(spec_, x_);
  }
  const FeatureRow& row_ = RowOf(GetParam());
  FactorizedSpec spec_;
  at::Tensor x_, phi_;
};

TEST_P(FeatureRowTest, HasTheWidthThatItSays) {
  const int64_t width =
      row_.features_per_direction > 0 ? row_.features_per_direction * kDirections : kWidth;
  EXPECT_EQ(phi_.sizes(), at::IntArrayRef({2, kHeads, 300, width}));
}

TEST_P(FeatureRowTest, HasTheSignsThatItSays) {
  EXPECT_EQ((phi_ < 0).any().item<bool>(), row_.signs != Signs::kNone);
  const double below = phi_.clamp_max(0).sum().neg().item<double>(),
               above = phi_.clamp_min(0).sum().item<double>();
  if (row_.signs == Signs::kEven) {
    EXPECT_GT(below, 0.1 * above);
  }
  if (row_.signs == Signs::kSlope) {
    EXPECT_LT(below, 2 * spec_.leaky_slope * above);
  }
}

// All features of all tokens by one factor, which a row sum cancels.
TEST_P(FeatureRowTest, LogarithmsAreThoseOfTheFeatures) {
  if (row_.log_phi == nullptr) return;
  const at::Tensor ratio = phi_ / row_.log_phi(spec_, x_).exp();
  EXPECT_LT((ratio / ratio.mean() - 1).abs().max().item<double>(), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    All, FeatureRowTest,
    testing::Values(FactorizedFeature::kIdentity, FactorizedFeature::kRelu,
                    FactorizedFeature::kLeakyRelu, FactorizedFeature::kEluPlusOne,
                    FactorizedFeature::kUnit, FactorizedFeature::kSquaredRelu,
                    FactorizedFeature::kReluPlusFloor, FactorizedFeature::kExp,
                    FactorizedFeature::kPositiveRandom, FactorizedFeature::kHyperbolicRandom,
                    FactorizedFeature::kTrigonometric, FactorizedFeature::kArcCosine),
    [](const auto& info) { return std::string(RowOf(info.param).name); });

template <class Find>
void ExpectARowForEachName(const google::protobuf::EnumDescriptor* type, Find find) {
  for (const std::string& name : EnumNames(type)) EXPECT_EQ(find(name).name, name);
}

TEST(TablesTest, EveryOptionHasARow) {
  ExpectARowForEachName(FactorizedOptions::FeatureMap_descriptor(),
                        [](const std::string& name) { return FeatureNamed(name); });
  ExpectARowForEachName(FactorizedOptions::Normalizer_descriptor(),
                        [](const std::string& name) { return NormalizerNamed(name); });
}

// elu(x) + 1 is smooth at 0.
TEST(TablesTest, EluPlusOneHasSlopeOneAtZero) {
  const at::Tensor x = at::zeros({1, 1, 2, kWidth}, at::kDouble).requires_grad_();
  RowOf(FactorizedFeature::kEluPlusOne).phi({}, x).sum().backward();
  EXPECT_TRUE((x.grad() == 1).all().item<bool>()) << x.grad();
}

TEST(TablesTest, PowersAreStabilisedWhereTheirPlainSumDivides) {
  FactorizedSpec spec = SpecOf(FactorizedFeature::kExp);
  spec.normalizer = RowNormalizer::kPlus;
  EXPECT_TRUE(IsStabilised(spec));
  spec.epsilon = 1e-6;
  EXPECT_FALSE(IsStabilised(spec));
  spec.epsilon = 0;
  spec.normalizer = RowNormalizer::kClamp;
  EXPECT_FALSE(IsStabilised(spec));
  spec = SpecOf(FactorizedFeature::kRelu);
  spec.normalizer = RowNormalizer::kPlus;
  EXPECT_FALSE(IsStabilised(spec));
}

}  // namespace
}  // namespace lra::factorized
