// identity: linear attention without a feature map.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 1. The paper does not say how a row
// sum near zero is treated: the floor, which has the sign of the sum, is ours.
//   w_ij = q_i . k_j,  o_i = sum_j w_ij v_j / n_i
// where n_i is the row sum sum_j w_ij, kept away from zero by the floor, or the number of keys.
#include "models/attention/identity.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/interface/options.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Attention>> MakeIdentity(const IdentityOptions& options,
                                                        const AttentionContext& context) {
  Traits traits;
  traits.label = "Identity";
  traits.summary = "linear attention without a feature map: weights of both signs";
  traits.source = "Qin et al. 2022, section 2.3 and table 1";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kIdentity;
  SetSignedNormalizer(options, &spec);
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("identity", IdentityOptions, MakeIdentity);

}  // namespace
}  // namespace lra
