// factorized: any point of the family of linear attentions: feature map x re-weighting x
// normaliser. Source: the family as in Katharopoulos et al. 2020, eqs. 4-6; the axes as ablated in
// Qin et al. 2022 (tables 1, 2 and 6). Named methods of the family have plug-ins of their own.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/factorized.pb.h"
#include "models/attention/options.h"
#include "models/factorized/attention.h"
#include "models/kernels/random_features.h"

namespace lra {
namespace {

constexpr int64_t kDefaultRandomFeatures = 128;
constexpr double kDefaultHalfLifeTokens = 16, kDefaultFrequencyRatio = 0.5;
constexpr double kInitialExponent = 0.5;
// M starts 1.14 times the longest sequence.
constexpr double kInitialLearnedScale = -2;

absl::Status SetFeature(const FactorizedOptions& options, const AttentionContext& context,
                        FactorizedSpec* spec) {
  switch (options.feature_map()) {
    case FactorizedOptions::IDENTITY:
      spec->feature = FactorizedFeature::kIdentity;
      break;
    case FactorizedOptions::LEAKY_RELU:
      spec->feature = FactorizedFeature::kLeakyRelu;
      if (options.has_leaky_slope()) spec->leaky_slope = options.leaky_slope();
      break;
    case FactorizedOptions::ELU_PLUS_ONE:
      spec->feature = FactorizedFeature::kEluPlusOne;
      break;
    case FactorizedOptions::EXP:
      spec->feature = FactorizedFeature::kExp;
      break;
    case FactorizedOptions::SQUARED_RELU:
      spec->feature = FactorizedFeature::kSquaredRelu;
      break;
    case FactorizedOptions::UNIT:
      spec->feature = FactorizedFeature::kUnit;
      break;
    case FactorizedOptions::POSITIVE_RANDOM: {
      spec->feature = FactorizedFeature::kPositiveRandom;
      const int64_t features =
          options.has_random_features() ? options.random_features() : kDefaultRandomFeatures;
      if (features < 1) {
        return absl::InvalidArgumentError(absl::StrCat("attention.options.random_features: is ",
                                                       features, ", must be at least 1"));
      }
      spec->projection =
          context.parameters->CreateBuffer(absl::StrCat(context.scope, "projection"),
                                           {features, context.head_width}, Initializer::Normal(1));
      OrthogonaliseRows(spec->projection);
      break;
    }
    default:
      spec->feature = FactorizedFeature::kRelu;
  }
  return absl::OkStatus();
}

absl::Status SetCosine(const FactorizedOptions& options, const AttentionContext& context,
                       FactorizedSpec* spec) {
  spec->reweighting = Reweighting::kCosine;
  const double ratio =
      options.has_frequency_ratio() ? options.frequency_ratio() : kDefaultFrequencyRatio;
  spec->frequencies.clear();
  const int terms = options.has_cosine_terms() ? options.cosine_terms() : 1;
  for (int t = 0; t < terms; ++t) spec->frequencies.push_back(std::pow(ratio, t));
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

void SetDecay(const FactorizedOptions& options, const AttentionContext& context,
              FactorizedSpec* spec) {
  spec->reweighting = Reweighting::kDecay;
  const double half_life =
      options.has_half_life_tokens() ? options.half_life_tokens() : kDefaultHalfLifeTokens;
  spec->log_decay = DecayLogs(half_life, context.heads);
}

absl::Status SetNormalizer(const FactorizedOptions& options, const AttentionContext& context,
                           FactorizedSpec* spec) {
  // Features that are powers are kept in range by scaling them, which an epsilon would feel.
  const bool is_power = spec->feature == FactorizedFeature::kExp ||
                        spec->feature == FactorizedFeature::kPositiveRandom;
  spec->epsilon = options.has_epsilon() ? options.epsilon() : is_power ? 0 : 1e-6;
  if (options.has_floor_ratio()) spec->floor_ratio = options.floor_ratio();
  switch (options.normalizer()) {
    case FactorizedOptions::SUM_PLUS:
      spec->normalizer = RowNormalizer::kPlus;
      break;
    case FactorizedOptions::SIGNED_FLOOR:
      spec->normalizer = RowNormalizer::kSignedFloor;
      break;
    case FactorizedOptions::NO_NORMALIZER:
      spec->normalizer = RowNormalizer::kNone;
      break;
    case FactorizedOptions::KEY_COUNT:
      spec->normalizer = RowNormalizer::kKeyCount;
      break;
    case FactorizedOptions::LENGTH_POWER:
      spec->normalizer = RowNormalizer::kLengthPower;
      spec->length_exponent =
          context.parameters->Create(absl::StrCat(context.scope, "length_exponent"),
                                     {context.heads}, Initializer::Constant(kInitialExponent));
      break;
    default:
      spec->normalizer = RowNormalizer::kClamp;
  }
  const bool divides_by_sum =
      spec->normalizer == RowNormalizer::kPlus || spec->normalizer == RowNormalizer::kClamp;
  if (divides_by_sum && HasNegativeWeights(*spec)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention.options.normalizer: is ",
        FactorizedOptions::Normalizer_Name(options.normalizer()),
        ", but these weights have both signs and their sum may be 0; set SIGNED_FLOOR, KEY_COUNT, "
        "LENGTH_POWER or NO_NORMALIZER"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Attention>> MakeAnyFactorized(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const FactorizedOptions options,
                       UnpackOptions<FactorizedOptions>(context.options));
  LRA_CHECK(context.parameters != nullptr);
  Traits traits;
  traits.label = "Factorised";
  traits.summary = "linear attention: feature map x re-weighting x normaliser, any combination";
  traits.source = "Katharopoulos et al. 2020, eqs. 4-6; axes as in Qin et al. 2022";
  FactorizedSpec spec;
  LRA_RETURN_IF_ERROR(SetFeature(options, context, &spec));
  if (options.reweighting() == FactorizedOptions::DECAY) {
    SetDecay(options, context, &spec);
  } else if (options.reweighting() != FactorizedOptions::NO_REWEIGHTING) {
    LRA_RETURN_IF_ERROR(SetCosine(options, context, &spec));
  }
  LRA_RETURN_IF_ERROR(SetNormalizer(options, context, &spec));
  return MakeFactorized(std::move(spec), std::move(traits));
}

LRA_REGISTER(AttentionRegistry, "factorized", MakeAnyFactorized);

}  // namespace
}  // namespace lra
