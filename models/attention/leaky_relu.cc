// leaky_relu: linear attention with LeakyReLU features.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 1. The paper gives neither the slope
// nor how a row sum near zero is treated: the slope is PyTorch's default, the floor with the sum's
// sign is ours.
//   w_ij = phi(q_i) . phi(k_j), phi(x) = max(x, 0) + slope min(x, 0), normalised as in
//   signed_features.h
#include <ATen/ATen.h>

#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/leaky_relu.pb.h"
#include "models/attention/options.h"
#include "models/attention/signed_features.h"

namespace lra {
namespace {

constexpr double kDefaultSlope = 0.01;

Traits MakeTraits() {
  Traits traits = SignedTraits();
  traits.label = "LeakyReLU";
  traits.summary = "linear attention with LeakyReLU features: few weights are negative";
  traits.source = "Qin et al. 2022, section 2.3 and table 1";
  return traits;
}

class LeakyRelu : public Attention {
 public:
  explicit LeakyRelu(LinearAttentionSpec spec) : spec_(std::move(spec)) {
    spec_.feature_map = FeatureMap::kLeakyRelu;
  }

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return SignedAttend(input, spec_);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const auto features = [&](const at::Tensor& x) {
      return x.clamp_min(0) + spec_.leaky_slope * x.clamp_max(0);
    };
    return SignedOracle(features(input.q), features(input.k), input, spec_);
  }

 private:
  const Traits traits_ = MakeTraits();
  LinearAttentionSpec spec_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeLeakyRelu(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const LeakyReluOptions options,
                       UnpackOptions<LeakyReluOptions>(context.options));
  LinearAttentionSpec spec = SignedSpec(options);
  spec.leaky_slope = options.has_slope() ? options.slope() : kDefaultSlope;
  return std::make_unique<LeakyRelu>(std::move(spec));
}

LRA_REGISTER(AttentionRegistry, "leaky_relu", MakeLeakyRelu);

}  // namespace
}  // namespace lra
