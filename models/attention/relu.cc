// relu: linear attention with ReLU features, which is cosFormer without its re-weighting.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 6.
//   o_i = sum_j relu(q_i) . relu(k_j) v_j / max(sum_j relu(q_i) . relu(k_j), epsilon)
#include "models/attention/relu.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/interface/options.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Attention>> MakeRelu(const ReluOptions& options,
                                                    const AttentionContext& context) {
  Traits traits;
  traits.label = "ReLU";
  traits.summary = "linear attention with ReLU features: cosFormer without re-weighting";
  traits.source = "Qin et al. 2022, section 2.3 and table 6";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kRelu;
  spec.normalizer = RowNormalizer::kClamp;
  spec.epsilon = options.epsilon();
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("relu", ReluOptions, MakeRelu);

}  // namespace
}  // namespace lra
