// cottention: cosine similarities as weights, without softmax or row sum.
// Source: Mongaras et al. 2024 ("Cottention: Linear Transformers With Cosine Attention"), eqs. 3-8;
// s and its lower bound as in the released BERT code.
//   o_i = s^-sigmoid(m) sum_j cos(q_i, k_j) v_j,  s = number of kept keys seen (at least 1)
// m is a learned scalar of each head. Causal: ROW divides the sum of row i by i's own power (eq. 4
// read row by row), VALUE each value by its own, as in the released GPT code. Rows are normalised
// by sqrt(|x|^2 + norm_epsilon); the released code divides by max(|x|, 1e-12).
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/cottention.pb.h"
#include "models/attention/options.h"
#include "models/factorized/attention.h"

namespace lra {
namespace {

constexpr double kDefaultInitialExponent = 0.5;
constexpr double kDefaultNormEpsilon = 1e-6;

absl::StatusOr<std::unique_ptr<Attention>> MakeCottention(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const CottentionOptions options,
                       UnpackOptions<CottentionOptions>(context.options));
  LRA_CHECK(context.parameters != nullptr);
  Traits traits;
  traits.label = "Cottention";
  traits.summary = "cosine similarities as weights, divided by a learned power of the length";
  traits.source = "Mongaras et al. 2024, eqs. 3-8";
  FactorizedSpec spec;
  spec.feature = FactorizedFeature::kUnit;
  spec.norm_epsilon = options.has_norm_epsilon() ? options.norm_epsilon() : kDefaultNormEpsilon;
  spec.normalizer = RowNormalizer::kLengthPower;
  spec.scales_values = options.causal_scaling() == CottentionOptions::VALUE;
  const double initial =
      options.has_initial_exponent() ? options.initial_exponent() : kDefaultInitialExponent;
  spec.length_exponent = context.parameters->Create(
      context.scope + "length_exponent", {context.heads}, Initializer::Constant(initial));
  return MakeFactorized(std::move(spec), std::move(traits));
}

LRA_REGISTER(AttentionRegistry, "cottention", MakeCottention);

}  // namespace
}  // namespace lra
