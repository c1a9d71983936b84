// linear: the linear transformer.
// Source: Katharopoulos et al. 2020 ("Transformers are RNNs"), eqs. 4-12; epsilon as in the
// released code.
//   o_i = sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + epsilon)
//   phi(x) = elu(x) + 1
#include "lra/status_macros.h"
#include "models/attention/linear.pb.h"
#include "models/attention/options.h"
#include "models/factorized/attention.h"

namespace lra {
namespace {

constexpr double kDefaultEpsilon = 1e-6;

absl::StatusOr<std::unique_ptr<Attention>> MakeLinear(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const LinearOptions options, UnpackOptions<LinearOptions>(context.options));
  Traits traits;
  traits.label = "Linear Transformer";
  traits.summary = "kernel attention with the features elu(x) + 1";
  traits.source = "Katharopoulos et al. 2020, eqs. 4-12";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kEluPlusOne;
  spec.normalizer = RowNormalizer::kPlus;
  spec.epsilon = options.has_epsilon() ? options.epsilon() : kDefaultEpsilon;
  return MakeFactorized(std::move(spec), std::move(traits));
}

LRA_REGISTER(AttentionRegistry, "linear", MakeLinear);

}  // namespace
}  // namespace lra
