#include "models/attention_weights.h"

#include <ATen/ops/eye.h>
#include <c10/core/GradMode.h>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra {

absl::Status CheckHasWeights(const Attention& attention) {
  const Traits& traits = attention.traits();
  if (traits.has_weights) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(traits.label,
                   " has no attention weights: its output is not a matrix, made without the "
                   "values, times the values"));
}

absl::StatusOr<at::Tensor> ImpliedWeights(const Attention& attention, const AttentionInput& input) {
  LRA_RETURN_IF_ERROR(CheckHasWeights(attention));
  const c10::NoGradGuard no_grad;
  const int64_t keys = input.k.size(2);
  AttentionInput unit = input;
  unit.v = at::eye(keys, input.k.options())
               .expand({input.k.size(0), input.k.size(1), keys, keys})
               .contiguous();
  return attention.Oracle(unit);
}

}  // namespace lra
