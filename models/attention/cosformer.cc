// cosformer: ReLU features with a cosine re-weighting of distance.
// Source: Qin et al. 2022 ("cosFormer"), eqs. 7-12; the clamp of the row sum as in the released
// code.
//   w_ij = relu(q_i) . relu(k_j) cos(pi (i - j) / 2M)
//   o_i = sum_j w_ij v_j / max(sum_j w_ij, epsilon)
// M must be at least the longest sequence: beyond it cosines turn negative. Two choices of M do not
// depend on padding or batch: FIXED (default), a constant, and LENGTH, each example's own length.
#include "lra/status_macros.h"
#include "models/attention/cosformer.pb.h"
#include "models/attention/options.h"
#include "models/factorized/attention.h"

namespace lra {
namespace {

constexpr double kDefaultEpsilon = 1e-6;

absl::StatusOr<std::unique_ptr<Attention>> MakeCosformer(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const CosformerOptions options,
                       UnpackOptions<CosformerOptions>(context.options));
  Traits traits;
  traits.label = "cosFormer";
  traits.summary = "ReLU features re-weighted by the cosine of the distance";
  traits.source = "Qin et al. 2022, eqs. 7-12";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kRelu;
  spec.reweighting = Reweighting::kCosine;
  spec.normalizer = RowNormalizer::kClamp;
  spec.epsilon = options.has_epsilon() ? options.epsilon() : kDefaultEpsilon;
  LRA_ASSIGN_OR_RETURN(spec.scale_tokens,
                       CosineScale(options.scale() == CosformerOptions::LENGTH,
                                   options.scale_tokens(), context.max_length_tokens));
  return MakeFactorized(std::move(spec), std::move(traits));
}

LRA_REGISTER(AttentionRegistry, "cosformer", MakeCosformer);

}  // namespace
}  // namespace lra
