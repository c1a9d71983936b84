// Wide features in memory linear in N with a small constant: a few heads at a time, made again for
// the backward.
#ifndef LRA_MODELS_FACTORIZED_RECOMPUTE_H_
#define LRA_MODELS_FACTORIZED_RECOMPUTE_H_

#include <ATen/core/Tensor.h>

#include "models/attention/attention.h"
#include "models/factorized/spec.h"

namespace lra::factorized {

// attend(spec, input) of some heads: what is sliced over. Differentiable by autograd.
using AttendHeads = at::Tensor (*)(const FactorizedSpec& spec, const AttentionInput& input);

// attend(spec, input) over groups of heads, [B, H, N, Dv]; of the forward only the inputs are kept.
// The spec must outlive the backward.
at::Tensor AttendByHeads(AttendHeads attend, const FactorizedSpec& spec,
                         const AttentionInput& input);

}  // namespace lra::factorized

#endif  // LRA_MODELS_FACTORIZED_RECOMPUTE_H_
