// Computes wide features in memory linear in N with a small constant: a few heads at a time,
// computed again for the backward.
#ifndef LRA_MODELS_FACTORIZED_RECOMPUTE_H_
#define LRA_MODELS_FACTORIZED_RECOMPUTE_H_

#include <ATen/core/Tensor.h>

#include "models/factorized/spec.h"
#include "models/interface/attention.h"

namespace lra::factorized {

// attend(spec, input) for some of the heads. It must be differentiable by autograd.
using AttendHeads = at::Tensor (*)(const FactorizedSpec& spec, const AttentionInput& input);

// Calls attend(spec, input) on groups of heads; the result is [B, H, N, Dv]. The forward keeps only
// the inputs. The spec must outlive the backward.
at::Tensor AttendByHeads(AttendHeads attend, const FactorizedSpec& spec,
                         const AttentionInput& input);

}  // namespace lra::factorized

#endif  // LRA_MODELS_FACTORIZED_RECOMPUTE_H_
