// leaky_relu: linear attention with LeakyReLU features.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 1. The paper gives neither the slope
// nor how a row sum near zero is treated: the slope is PyTorch's default, the floor with the sum's
// sign is ours.
//   w_ij = phi(q_i) . phi(k_j), phi(x) = max(x, 0) + slope min(x, 0), divided as in identity.cc
#include "lra/status_macros.h"
#include "models/attention/leaky_relu.pb.h"
#include "models/attention/options.h"
#include "models/factorized/attention.h"

namespace lra {
namespace {

constexpr double kDefaultSlope = 0.01;

absl::StatusOr<std::unique_ptr<Attention>> MakeLeakyRelu(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const LeakyReluOptions options,
                       UnpackOptions<LeakyReluOptions>(context.options));
  Traits traits;
  traits.label = "LeakyReLU";
  traits.summary = "linear attention with LeakyReLU features: few weights are negative";
  traits.source = "Qin et al. 2022, section 2.3 and table 1";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kLeakyRelu;
  spec.leaky_slope = options.has_slope() ? options.slope() : kDefaultSlope;
  SetSignedNormalizer(options, &spec);
  return MakeFactorized(std::move(spec), std::move(traits));
}

LRA_REGISTER(AttentionRegistry, "leaky_relu", MakeLeakyRelu);

}  // namespace
}  // namespace lra
