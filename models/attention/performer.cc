// performer: linear attention whose features approximate the softmax kernel (FAVOR+).
// Source: Choromanski et al. 2021, eqs. 4-7 and Lemma 1; RELU as in google-research/
// long-range-arena's generalized attention.
//   o_i = sum_j phi(q_i) . phi(k_j) v_j / sum_j phi(q_i) . phi(k_j)
//   SOFTMAX: phi(x)_r = exp(w_r . x' - |x'|^2 / 2), x' = x D^-1/4;  RELU: phi(x) = relu(x) + floor
// One projection a layer, shared by its heads, drawn once and saved; it is never redrawn.
// Variant LRA2020: performer_lra2020.cc.
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/options.h"
#include "models/attention/performer.pb.h"
#include "models/attention/performer_lra2020.h"
#include "models/factorized/attention.h"
#include "models/kernels/random_features.h"

namespace lra {
namespace {

constexpr int64_t kDefaultFeatures = 128;
constexpr double kDefaultFloor = 1e-3;

FactorizedFeature FeatureOf(PerformerOptions::Kernel kernel) {
  switch (kernel) {
    case PerformerOptions::RELU:
      return FactorizedFeature::kReluPlusFloor;
    case PerformerOptions::HYPERBOLIC:
      return FactorizedFeature::kHyperbolicRandom;
    default:
      return FactorizedFeature::kPositiveRandom;
  }
}

absl::Status CheckOptions(const PerformerOptions& options) {
  if (options.has_features() && options.features() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("attention.options.features: is ",
                                                   options.features(), ", must be at least 1"));
  }
  if (options.has_relu_floor() && !(options.relu_floor() > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("attention.options.relu_floor: is ",
                                                   options.relu_floor(),
                                                   ", must be above 0: a row sum could be 0"));
  }
  const bool is_softmax = options.kernel() == PerformerOptions::SOFTMAX ||
                          options.kernel() == PerformerOptions::KERNEL_UNSPECIFIED;
  if (options.variant() == PerformerOptions::LRA2020 && !is_softmax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention.options.variant: is LRA2020, which is about kernel SOFTMAX, but kernel is ",
        PerformerOptions::Kernel_Name(options.kernel()), "; set variant=PAPER"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Attention>> MakePerformer(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const PerformerOptions options,
                       UnpackOptions<PerformerOptions>(context.options));
  LRA_RETURN_IF_ERROR(CheckOptions(options));
  Traits traits;
  traits.label = "Performer";
  traits.summary = "linear attention with random features of the softmax kernel (FAVOR+)";
  traits.source = "Choromanski et al. 2021, eqs. 4-7 and Lemma 1";
  traits.time_order = "N M D";
  FactorizedSpec spec;
  spec.feature = FeatureOf(options.kernel());
  spec.normalizer = RowNormalizer::kPlus;
  spec.epsilon = 0;
  spec.feature_floor = options.has_relu_floor() ? options.relu_floor() : kDefaultFloor;
  if (spec.feature != FactorizedFeature::kReluPlusFloor) {
    const int64_t features = options.has_features() ? options.features() : kDefaultFeatures;
    spec.projection =
        context.parameters->CreateBuffer(absl::StrCat(context.scope, "projection"),
                                         {features, context.head_width}, Initializer::Normal(1));
    if (!options.has_is_orthogonal() || options.is_orthogonal()) OrthogonaliseRows(spec.projection);
    if (options.variant() == PerformerOptions::LRA2020)
      return MakeLra2020Performer(spec.projection);
  }
  return MakeFactorized(std::move(spec), std::move(traits));
}

LRA_REGISTER(AttentionRegistry, "performer", MakePerformer);

}  // namespace
}  // namespace lra
