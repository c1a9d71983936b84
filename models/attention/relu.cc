// relu: linear attention with ReLU features, cosFormer without its re-weighting.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 6.
//   o_i = sum_j relu(q_i) . relu(k_j) v_j / max(sum_j relu(q_i) . relu(k_j), epsilon)
#include "lra/status_macros.h"
#include "models/attention/options.h"
#include "models/attention/relu.pb.h"
#include "models/factorized/attention.h"

namespace lra {
namespace {

constexpr double kDefaultEpsilon = 1e-6;

absl::StatusOr<std::unique_ptr<Attention>> MakeRelu(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const ReluOptions options, UnpackOptions<ReluOptions>(context.options));
  Traits traits;
  traits.label = "ReLU";
  traits.summary = "linear attention with ReLU features: cosFormer without re-weighting";
  traits.source = "Qin et al. 2022, section 2.3 and table 6";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kRelu;
  spec.normalizer = RowNormalizer::kClamp;
  spec.epsilon = options.has_epsilon() ? options.epsilon() : kDefaultEpsilon;
  return MakeFactorized(std::move(spec), std::move(traits));
}

LRA_REGISTER(AttentionRegistry, "relu", MakeRelu);

}  // namespace
}  // namespace lra
