// cosformer: ReLU features with a cosine re-weighting of distance.
// Source: Qin et al. 2022 ("cosFormer"), eqs. 7-12; the clamp of the row sum as in the released
// code.
//   w_ij = relu(q_i) . relu(k_j) cos(pi (i - j) / 2M)
//   o_i = sum_j w_ij v_j / max(sum_j w_ij, epsilon)
// M must be at least the longest sequence: beyond it cosines turn negative. Two choices of M do not
// depend on padding or batch: FIXED, a constant, and LENGTH, each example's own length.
#include "lra/status_macros.h"
#include "models/attention/cosformer.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/interface/options.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Attention>> MakeCosformer(const CosformerOptions& options,
                                                         const AttentionContext& context) {
  Traits traits;
  traits.label = "cosFormer";
  traits.summary = "ReLU features re-weighted by the cosine of the distance";
  traits.source = "Qin et al. 2022, eqs. 7-12";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kRelu;
  spec.reweighting = Reweighting::kCosine;
  spec.normalizer = RowNormalizer::kClamp;
  spec.epsilon = options.epsilon();
  LRA_ASSIGN_OR_RETURN(spec.scale_tokens,
                       CosineScale(options.scale() == CosformerOptions::LENGTH,
                                   options.scale_tokens(), context.max_length_tokens));
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("cosformer", CosformerOptions, MakeCosformer);

}  // namespace
}  // namespace lra
