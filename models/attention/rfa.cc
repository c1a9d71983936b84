// rfa: random feature attention, with or without a gate.
// Source: Peng et al. 2021 ("Random Feature Attention"), eqs. 3-8; sigma and tau as in
// Noahs-ARK/RFA.
//   o_i = sum_j phi(q_i) . phi(k_j) v_j / sum_j phi(q_i) . phi(k_j), x^ = x / |x|
//   GAUSSIAN:   phi(x) = M^-1/2 [sin(W x^); cos(W x^)],  W = w (sigma / tau), w ~ N(0, I)
//   ARC_COSINE: phi(x) = M^-1/2 relu(W x^)
//   gated: S_t = g_t S_{t-1} + (1 - g_t) phi(k_t) v_t^T, g_t = sigmoid(w_g . x_t + b_g)
// Sines and cosines have both signs, so the row sum of GAUSSIAN may come near 0; it is kept above
// 0.02 times what it would be if all phi(q_i) . phi(k_j) were 1: the number of keys, with a gate
// 1 - prod_s g_s, with distance slopes s the sum of exp(-s |i - j|). The released code multiplies
// features by 0.1 and keeps the sum above 1 instead, which shrinks the first rows.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/rfa.pb.h"
#include "models/factorized/factorized_attention.h"
#include "models/interface/options.h"

namespace lra {
namespace {

constexpr double kCountFloor = 0.02, kEpsilon = 1e-6;

void AddGate(const RfaOptions& options, const AttentionContext& context, FactorizedSpec* spec) {
  spec->reweighting = Reweighting::kGate;
  spec->gate_weight =
      context.parameters->Create(absl::StrCat(context.scope, "gate.weight"),
                                 {context.heads, context.model_width}, Initializer::Normal(0.02));
  spec->gate_bias =
      context.parameters->Create(absl::StrCat(context.scope, "gate.bias"), {context.heads},
                                 Initializer::Constant(options.gate_bias()));
}

absl::StatusOr<std::unique_ptr<Attention>> MakeRfa(const RfaOptions& options,
                                                   const AttentionContext& context) {
  LRA_CHECK(context.parameters != nullptr);
  Traits traits;
  traits.label = options.is_gated() ? "RFA-Gate" : "RFA";
  traits.summary = "linear attention with random features of a Gaussian or arc-cosine kernel";
  traits.source = "Peng et al. 2021, eqs. 3-8";
  traits.time_order = "2 N M D";
  if (options.is_gated()) {
    traits.causal_reason =
        "gates tell what is left of earlier tokens; attention.options.is_gated=false has none";
  }
  FactorizedSpec spec;
  const bool is_arc_cosine = options.kernel() == RfaOptions::ARC_COSINE;
  spec.feature = is_arc_cosine ? FactorizedFeature::kArcCosine : FactorizedFeature::kTrigonometric;
  spec.normalizer = is_arc_cosine ? RowNormalizer::kClamp : RowNormalizer::kCountFloor;
  spec.epsilon = is_arc_cosine ? kEpsilon : kCountFloor;
  spec.projection = context.parameters->CreateBuffer(absl::StrCat(context.scope, "projection"),
                                                     {options.features(), context.head_width},
                                                     Initializer::Normal(1));
  spec.projection_scale = context.parameters->Create(
      absl::StrCat(context.scope, "scale"), {context.heads, context.head_width},
      Initializer::Constant(1 / options.temperature()));
  if (options.is_gated()) AddGate(options, context, &spec);
  return MakeFactorized(std::move(spec), context, std::move(traits));
}

LRA_REGISTER_ATTENTION("rfa", RfaOptions, MakeRfa);

}  // namespace
}  // namespace lra
