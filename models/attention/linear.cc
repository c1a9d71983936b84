// linear: the linear transformer.
// Source: Katharopoulos et al. 2020 ("Transformers are RNNs"), eqs. 4-12; epsilon as in the
// released code.
//   o_i = sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + epsilon)
//   phi(x) = elu(x) + 1
#include "models/attention/linear.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/interface/options.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Attention>> MakeLinear(const LinearOptions& options,
                                                      const AttentionContext& context) {
  Traits traits;
  traits.label = "Linear Transformer";
  traits.summary = "kernel attention with the features elu(x) + 1";
  traits.source = "Katharopoulos et al. 2020, eqs. 4-12";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kEluPlusOne;
  spec.normalizer = RowNormalizer::kPlus;
  spec.epsilon = options.epsilon();
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("linear", LinearOptions, MakeLinear);

}  // namespace
}  // namespace lra
