// cottention: cosine similarities as weights, without softmax or row sum.
// Source: Mongaras et al. 2024 ("Cottention: Linear Transformers With Cosine Attention"), eqs. 3-8;
// s and its lower bound as in the released BERT code.
//   o_i = s^-sigmoid(m) sum_j cos(q_i, k_j) v_j,  s = number of kept keys seen (at least 1)
// m is a learned scalar of each head. Causal: ROW divides the sum of row i by i's own power (eq. 4
// read row by row), VALUE each value by its own, as in the released GPT code. The listing of the
// paper's appendix has one s for each call, by its comment the length at the current timestep; one
// for a whole sequence would let an output depend on how many tokens follow, so it is not offered.
// Rows are normalised by sqrt(|x|^2 + norm_epsilon); the released code divides by max(|x|, 1e-12).
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/cottention.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/interface/options.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Attention>> MakeCottention(const CottentionOptions& options,
                                                          const AttentionContext& context) {
  LRA_CHECK(context.parameters != nullptr);
  Traits traits;
  traits.label = "Cottention";
  traits.summary = "cosine similarities as weights, divided by a learned power of the length";
  traits.source = "Mongaras et al. 2024, eqs. 3-8";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kUnit;
  spec.norm_epsilon = options.norm_epsilon();
  spec.normalizer = RowNormalizer::kLengthPower;
  spec.scales_values = options.causal_scaling() == CottentionOptions::VALUE;
  spec.length_exponent =
      context.parameters->Create(context.scope + "length_exponent", {context.heads},
                                 Initializer::Constant(options.initial_exponent()));
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("cottention", CottentionOptions, MakeCottention);

}  // namespace
}  // namespace lra
