// leaky_relu: linear attention with LeakyReLU features.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 1. The paper gives neither the slope
// nor how a row sum near zero is treated: the slope is PyTorch's default; the floor, which has the
// sign of the sum, is ours.
//   w_ij = phi(q_i) . phi(k_j), phi(x) = max(x, 0) + slope min(x, 0), divided as in identity.cc
#include "models/attention/leaky_relu.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/interface/options.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Attention>> MakeLeakyRelu(const LeakyReluOptions& options,
                                                         const AttentionContext& context) {
  Traits traits;
  traits.label = "LeakyReLU";
  traits.summary = "linear attention with LeakyReLU features: few weights are negative";
  traits.source = "Qin et al. 2022, section 2.3 and table 1";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kLeakyRelu;
  spec.leaky_slope = options.slope();
  SetSignedNormalizer(options, &spec);
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("leaky_relu", LeakyReluOptions, MakeLeakyRelu);

}  // namespace
}  // namespace lra
