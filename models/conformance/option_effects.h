// Promise E: no option of an attention is without effect.
#ifndef LRA_MODELS_CONFORMANCE_OPTION_EFFECTS_H_
#define LRA_MODELS_CONFORMANCE_OPTION_EFFECTS_H_

#include <vector>

#include "models/conformance/conformance.h"

namespace lra::internal {

// One result for each number, choice and switch that --set finds: two values of it make attentions
// of which outputs or gradients differ, in evaluation or training (float64, on the CPU), or what
// they own, or whether they are causal; as they are set, or where up to two other options are
// changed. A choice may also be but a name for what other options have to be. `maker` reads
// AttentionContext::options; `options` are complete.
std::vector<ConformanceResult> CheckOptionEffects(absl::string_view name,
                                                  const AttentionMaker& maker,
                                                  const google::protobuf::Any& options);

}  // namespace lra::internal

#endif  // LRA_MODELS_CONFORMANCE_OPTION_EFFECTS_H_
