// What plug-ins of the family share.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "models/factorized/factorized_attention.h"
#include "models/factorized/tables.h"

namespace lra {

using factorized::RowOf;
using factorized::Signs;

bool HasNegativeWeights(const FactorizedSpec& spec) {
  if (RowOf(spec.feature).signs != Signs::kNone) return true;
  return spec.reweighting == Reweighting::kCosine &&
         *std::max_element(spec.frequencies.begin(), spec.frequencies.end()) > 1;
}

namespace {

// Features below 0 about as often, and as far, as above: their products cancel.
bool HasEvenSigns(const FactorizedSpec& spec) {
  const Signs signs = RowOf(spec.feature).signs;
  return signs == Signs::kEven || (signs == Signs::kSlope && spec.leaky_slope > 0.1);
}

Traits FactorizedTraits(const FactorizedSpec& spec, Traits traits) {
  // Floored, counted and undivided rows do not sum to 1.
  traits.is_row_stochastic = RowOf(spec.normalizer).is_sum && !HasNegativeWeights(spec);
  traits.is_permutation_invariant = spec.reweighting == Reweighting::kNone;
  traits.supports_cross =
      spec.reweighting == Reweighting::kNone || spec.reweighting == Reweighting::kCosine;
  traits.causality =
      spec.reweighting == Reweighting::kGate ? Causality::kAlways : Causality::kOptional;
  const bool is_cosine = spec.reweighting == Reweighting::kCosine;
  const bool needs_length = is_cosine && spec.scale_tokens == 0;
  if (needs_length) {
    traits.causality = Causality::kNever;
    traits.causal_reason = "the example's length lies in the future";
  }
  traits.supports_streaming = !needs_length;
  traits.is_length_bound = is_cosine && !needs_length;
  traits.uses_layer_input = spec.reweighting == Reweighting::kGate;
  if (spec.normalizer == RowNormalizer::kSignedFloor && HasEvenSigns(spec))
    traits.bfloat16_reason = "weights of both signs cancel in the row sum that divides them";
  if (traits.time_order.empty()) traits.time_order = is_cosine ? "2 N D^2" : "N D^2";
  if (traits.memory_order.empty()) traits.memory_order = "N D";
  return traits;
}

}  // namespace

std::unique_ptr<Attention> MakeFactorized(FactorizedSpec spec, const AttentionContext& context,
                                          Traits traits) {
  traits.takes_distance_slopes = spec.reweighting == Reweighting::kNone;
  if (traits.takes_distance_slopes && !context.distance_slopes.empty()) {
    spec.reweighting = Reweighting::kDecay;
    spec.log_decay = -at::tensor(context.distance_slopes, at::kDouble);
  }
  Traits complete = FactorizedTraits(spec, std::move(traits));
  return std::make_unique<FactorizedAttention>(std::move(spec), std::move(complete));
}

absl::StatusOr<int64_t> CosineScale(bool is_length, int64_t scale_tokens,
                                    int64_t max_length_tokens) {
  if (is_length) {
    if (scale_tokens == 0) return 0;
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options.scale_tokens: is ", scale_tokens,
                     " though scale is LENGTH; leave it 0 or set scale: FIXED"));
  }
  const int64_t scale = scale_tokens > 0 ? scale_tokens : max_length_tokens;
  if (scale >= max_length_tokens && scale >= 1) return scale;
  return absl::InvalidArgumentError(absl::StrCat(
      "attention.options.scale_tokens: M = ", scale, " is below the longest sequence, ",
      max_length_tokens, " tokens (CLS included); set at least that, or 0 for exactly that"));
}

at::Tensor DecayLogs(double half_life_tokens, int64_t heads) {
  const at::Tensor head = at::arange(heads, at::kDouble);
  return -std::log(2.0) / (half_life_tokens * at::pow(2.0, head));
}

}  // namespace lra
