// performer: linear attention whose features approximate the softmax kernel (FAVOR+).
// Source: Choromanski et al. 2021, eqs. 4-7 and Lemma 1; RELU is the generalized attention of
// google-research/long-range-arena.
//   o_i = sum_j phi(q_i) . phi(k_j) v_j / sum_j phi(q_i) . phi(k_j)
//   SOFTMAX:    phi(x)_r = exp(w_r . x' - |x'|^2 / 2), x' = x D^-1/4
//   HYPERBOLIC: the same features of w_r and of -w_r
//   RELU:       phi(x) = relu(x) + floor
// Each layer has one projection w, shared by its heads. It is drawn once, saved with the model and
// never redrawn. The variant LRA2020 is in performer_lra2020.cc.
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/performer.pb.h"
#include "models/attention/performer_lra2020.h"
#include "models/factorized/factorized_attention.h"
#include "models/factorized/tables.h"
#include "models/interface/options.h"
#include "models/kernels/random_features.h"

namespace lra {
namespace {

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

absl::Status CheckVariant(const PerformerOptions& options) {
  if (options.variant() == PerformerOptions::LRA2020 &&
      options.kernel() != PerformerOptions::SOFTMAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention.options.variant: is LRA2020, which is about kernel SOFTMAX, but kernel is ",
        PerformerOptions::Kernel_Name(options.kernel()), "; set variant=PAPER"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Attention>> MakePerformer(const PerformerOptions& options,
                                                         const AttentionContext& context) {
  LRA_RETURN_IF_ERROR(CheckVariant(options));
  Traits traits;
  traits.label = "Performer";
  traits.summary = "linear attention with random features of the softmax kernel (FAVOR+)";
  traits.source = "Choromanski et al. 2021, eqs. 4-7 and Lemma 1";
  traits.time_order = "N M D";
  FactorizedSpec spec;
  spec.feature = FeatureOf(options.kernel());
  spec.normalizer = RowNormalizer::kPlus;
  spec.epsilon = 0;
  spec.feature_floor = options.relu_floor();
  if (factorized::RowOf(spec.feature).features_per_direction > 0) {
    spec.projection = context.parameters->CreateBuffer(absl::StrCat(context.scope, "projection"),
                                                       {options.features(), context.head_width},
                                                       Initializer::Normal(1));
    if (options.is_orthogonal()) OrthogonaliseRows(spec.projection);
    if (options.variant() == PerformerOptions::LRA2020)
      return MakeLra2020Performer(spec.projection);
  }
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("performer", PerformerOptions, MakePerformer);

}  // namespace
}  // namespace lra
