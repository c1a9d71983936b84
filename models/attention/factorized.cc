// factorized: any point of the family of linear attentions: feature map x re-weighting x
// normaliser. Source: the family as in Katharopoulos et al. 2020, eqs. 4-6; the axes as ablated in
// Qin et al. 2022 (tables 1 and 6). Named methods of the family have plug-ins of their own.
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/factorized.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/factorized/tables.h"
#include "models/interface/options.h"
#include "models/kernels/random_features.h"

namespace lra {
namespace {

constexpr double kInitialExponent = 0.5;
// M starts 1.14 times the longest sequence.
constexpr double kInitialLearnedScale = -2;
constexpr double kNormEpsilon = 1e-6;  // of UNIT, as cottention.textproto

void SetFeature(const FactorizedOptions& options, const AttentionContext& context,
                FactorizedSpec* spec) {
  const factorized::FeatureRow& row =
      factorized::FeatureNamed(FactorizedOptions::FeatureMap_Name(options.feature_map()));
  spec->feature = row.feature;
  spec->leaky_slope = options.leaky_slope();
  spec->norm_epsilon = kNormEpsilon;
  if (row.features_per_direction == 0) return;
  spec->projection = context.parameters->CreateBuffer(
      absl::StrCat(context.scope, "projection"), {options.random_features(), context.head_width},
      Initializer::Normal(1));
  OrthogonaliseRows(spec->projection);
}

absl::Status SetCosine(const FactorizedOptions& options, const AttentionContext& context,
                       FactorizedSpec* spec) {
  spec->reweighting = Reweighting::kCosine;
  spec->frequencies.clear();
  for (int t = 0; t < options.cosine_terms(); ++t)
    spec->frequencies.push_back(std::pow(options.frequency_ratio(), t));
  LRA_ASSIGN_OR_RETURN(spec->scale_tokens,
                       CosineScale(options.scale() == FactorizedOptions::LENGTH,
                                   options.scale_tokens(), context.max_length_tokens));
  if (options.scale() == FactorizedOptions::LEARNED) {
    spec->learned_scale =
        context.parameters->Create(absl::StrCat(context.scope, "scale"), {context.heads},
                                   Initializer::Constant(kInitialLearnedScale));
  }
  return absl::OkStatus();
}

absl::Status SetNormalizer(const FactorizedOptions& options, const AttentionContext& context,
                           FactorizedSpec* spec) {
  const std::string& name = FactorizedOptions::Normalizer_Name(options.normalizer());
  const factorized::NormalizerRow& row = factorized::NormalizerNamed(name);
  spec->normalizer = row.normalizer;
  spec->epsilon = options.epsilon();
  spec->floor_ratio = options.floor_ratio();
  if (spec->normalizer == RowNormalizer::kLengthPower) {
    spec->length_exponent =
        context.parameters->Create(absl::StrCat(context.scope, "length_exponent"), {context.heads},
                                   Initializer::Constant(kInitialExponent));
  }
  if (row.is_sum && HasNegativeWeights(*spec)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention.options.normalizer: is ", name,
        ", but these weights have both signs and their sum may be 0; set SIGNED_FLOOR, KEY_COUNT, "
        "LENGTH_POWER or NO_NORMALIZER"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Attention>> MakeAnyFactorized(const FactorizedOptions& options,
                                                             const AttentionContext& context) {
  LRA_CHECK(context.parameters != nullptr);
  Traits traits;
  traits.label = "Factorised";
  traits.summary = "linear attention: feature map x re-weighting x normaliser, any combination";
  traits.source = "Katharopoulos et al. 2020, eqs. 4-6; axes as in Qin et al. 2022";
  FactorizedSpec spec;
  SetFeature(options, context, &spec);
  const bool learns_decay = options.reweighting() == FactorizedOptions::LEARNED_DECAY;
  if (learns_decay || options.reweighting() == FactorizedOptions::DECAY) {
    spec.reweighting = Reweighting::kDecay;
    spec.log_decay = DecayLogs(options.half_life_tokens(), context.heads);
    if (learns_decay) {
      spec.learned_scale = context.parameters->Create(absl::StrCat(context.scope, "half_life"),
                                                      {context.heads}, Initializer::Zeros());
    }
  } else if (options.reweighting() == FactorizedOptions::COSINE) {
    LRA_RETURN_IF_ERROR(SetCosine(options, context, &spec));
  }
  LRA_RETURN_IF_ERROR(SetNormalizer(options, context, &spec));
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("factorized", FactorizedOptions, MakeAnyFactorized);

}  // namespace
}  // namespace lra
