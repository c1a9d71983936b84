// identity: linear attention without a feature map.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 1. The paper leaves open how a row
// sum near zero is treated; the floor with the sum's sign is ours.
//   w_ij = q_i . k_j, normalised as in signed_features.h
#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/identity.pb.h"
#include "models/attention/options.h"
#include "models/attention/signed_features.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits = SignedTraits();
  traits.label = "Identity";
  traits.summary = "linear attention without a feature map: weights of both signs";
  traits.source = "Qin et al. 2022, section 2.3 and table 1";
  return traits;
}

class Identity : public Attention {
 public:
  explicit Identity(LinearAttentionSpec spec) : spec_(std::move(spec)) {
    spec_.feature_map = FeatureMap::kIdentity;
  }

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return SignedAttend(input, spec_);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    return SignedOracle(input.q, input.k, input, spec_);
  }

 private:
  const Traits traits_ = MakeTraits();
  LinearAttentionSpec spec_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeIdentity(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const IdentityOptions options,
                       UnpackOptions<IdentityOptions>(context.options));
  return std::make_unique<Identity>(SignedSpec(options));
}

LRA_REGISTER(AttentionRegistry, "identity", MakeIdentity);

}  // namespace
}  // namespace lra
