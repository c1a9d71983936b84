#include "models/factorized/tables.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/matmul.h>

#include <cmath>

#include "lra/check.h"
#include "models/kernels/random_features.h"

namespace lra::factorized {
namespace {

// x / sqrt(|x|^2 + epsilon), 0 for 0 / 0.
at::Tensor Unit(const at::Tensor& x, double epsilon) {
  const at::Tensor squares = x.square().sum(-1, true) + epsilon;
  return x * squares.masked_fill(squares == 0, 1).rsqrt();
}

// w . x^ for RFA: [B, H, N, M].
at::Tensor UnitProducts(const FactorizedSpec& spec, const at::Tensor& x) {
  const at::Tensor unit = Unit(x, 0);
  const int64_t heads = spec.projection_scale.size(0), width = spec.projection_scale.size(1);
  const at::Tensor scaled = unit * spec.projection_scale.to(x.options()).view({1, heads, 1, width});
  return at::matmul(scaled, spec.projection.to(x.options()).t());
}

template <bool has_both_signs>
at::Tensor LogRandom(const FactorizedSpec& spec, const at::Tensor& x) {
  return LogPositiveFeatures(x * KernelScale(x), spec.projection, has_both_signs);
}

template <bool has_both_signs>
at::Tensor Random(const FactorizedSpec& spec, const at::Tensor& x) {
  const at::Tensor features = LogRandom<has_both_signs>(spec, x).exp();
  return features / std::sqrt(static_cast<double>(features.size(-1)));
}

at::Tensor Trigonometric(const FactorizedSpec& spec, const at::Tensor& x) {
  const at::Tensor products = UnitProducts(spec, x);
  return at::cat({products.sin(), products.cos()}, -1) /
         std::sqrt(static_cast<double>(products.size(-1)));
}

at::Tensor ArcCosine(const FactorizedSpec& spec, const at::Tensor& x) {
  const at::Tensor products = UnitProducts(spec, x);
  return products.relu() / std::sqrt(static_cast<double>(products.size(-1)));
}

using Spec = FactorizedSpec;

constexpr FeatureRow kFeatures[] = {
    {.feature = FactorizedFeature::kIdentity,
     .name = "IDENTITY",
     .phi = [](const Spec&, const at::Tensor& x) { return x; },
     .core = FeatureMap::kIdentity,
     .signs = Signs::kEven},
    {.feature = FactorizedFeature::kRelu,
     .name = "RELU",
     .phi = [](const Spec&, const at::Tensor& x) { return x.relu(); },
     .core = FeatureMap::kRelu},
    {.feature = FactorizedFeature::kLeakyRelu,
     .name = "LEAKY_RELU",
     .phi = [](const Spec& spec,
               const at::Tensor& x) { return at::leaky_relu(x, spec.leaky_slope); },
     .core = FeatureMap::kLeakyRelu,
     .signs = Signs::kSlope},
    {.feature = FactorizedFeature::kEluPlusOne,
     .name = "ELU_PLUS_ONE",
     // At exactly 0 the gradient is 1: relu passes nothing there, clamp_min would.
     .phi = [](const Spec&, const at::Tensor& x) { return x.relu() + x.clamp_max(0).exp(); },
     .core = FeatureMap::kEluPlusOne},
    {.feature = FactorizedFeature::kUnit,
     .name = "UNIT",
     .phi = [](const Spec& spec, const at::Tensor& x) { return Unit(x, spec.norm_epsilon); },
     .core = FeatureMap::kUnit,
     .signs = Signs::kEven},
    {.feature = FactorizedFeature::kSquaredRelu,
     .name = "SQUARED_RELU",
     .phi = [](const Spec&, const at::Tensor& x) { return x.relu().square(); }},
    {.feature = FactorizedFeature::kReluPlusFloor,
     .name = "RELU_PLUS_FLOOR",
     .phi = [](const Spec& spec, const at::Tensor& x) { return x.relu() + spec.feature_floor; }},
    {.feature = FactorizedFeature::kExp,
     .name = "EXP",
     .phi = [](const Spec&, const at::Tensor& x) { return x.exp(); },
     .log_phi = [](const Spec&, const at::Tensor& x) { return x; }},
    {.feature = FactorizedFeature::kPositiveRandom,
     .name = "POSITIVE_RANDOM",
     .phi = Random<false>,
     .log_phi = LogRandom<false>,
     .features_per_direction = 1,
     .is_fused = true},
    {.feature = FactorizedFeature::kHyperbolicRandom,
     .name = "HYPERBOLIC_RANDOM",
     .phi = Random<true>,
     .log_phi = LogRandom<true>,
     .features_per_direction = 2},
    {.feature = FactorizedFeature::kTrigonometric,
     .name = "TRIGONOMETRIC",
     .phi = Trigonometric,
     .signs = Signs::kEven,
     .features_per_direction = 2,
     .is_fused = true},
    {.feature = FactorizedFeature::kArcCosine,
     .name = "ARC_COSINE",
     .phi = ArcCosine,
     .features_per_direction = 1},
};

constexpr NormalizerRow kNormalizers[] = {
    {RowNormalizer::kPlus, "SUM_PLUS", Denominator::kPlus, /*is_sum=*/true},
    {RowNormalizer::kClamp, "SUM_CLAMP", Denominator::kClamp, /*is_sum=*/true},
    {RowNormalizer::kSignedFloor, "SIGNED_FLOOR", Denominator::kSignedFloor},
    {RowNormalizer::kCountFloor, "COUNT_FLOOR", Denominator::kNone},
    {RowNormalizer::kNone, "NO_NORMALIZER", Denominator::kNone},
    {RowNormalizer::kKeyCount, "KEY_COUNT", Denominator::kNone},
    {RowNormalizer::kLengthPower, "LENGTH_POWER", Denominator::kNone},
};

template <class Row, size_t rows, class Is>
const Row& Find(const Row (&table)[rows], Is is) {
  for (const Row& row : table) {
    if (is(row)) return row;
  }
  LRA_CHECK(false) << "no row of the table is asked for";
  return table[0];
}

}  // namespace

const FeatureRow& RowOf(FactorizedFeature feature) {
  return Find(kFeatures, [&](const FeatureRow& row) { return row.feature == feature; });
}

const FeatureRow& FeatureNamed(absl::string_view name) {
  return Find(kFeatures, [&](const FeatureRow& row) { return row.name == name; });
}

const NormalizerRow& RowOf(RowNormalizer normalizer) {
  return Find(kNormalizers, [&](const NormalizerRow& row) { return row.normalizer == normalizer; });
}

const NormalizerRow& NormalizerNamed(absl::string_view name) {
  return Find(kNormalizers, [&](const NormalizerRow& row) { return row.name == name; });
}

bool IsStabilised(const FactorizedSpec& spec) {
  return RowOf(spec.feature).log_phi != nullptr && spec.normalizer == RowNormalizer::kPlus &&
         spec.epsilon == 0;
}

double KernelScale(const at::Tensor& x) { return std::pow(static_cast<double>(x.size(3)), -0.25); }

}  // namespace lra::factorized
