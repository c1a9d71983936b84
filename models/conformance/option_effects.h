// Promise O, for what a user sets: no option of an attention is without effect.
#ifndef LRA_MODELS_CONFORMANCE_OPTION_EFFECTS_H_
#define LRA_MODELS_CONFORMANCE_OPTION_EFFECTS_H_

#include <vector>

#include "models/conformance/conformance.h"

namespace lra::internal {

// One result for each number, choice and switch that --set finds: some other value of it moves the
// output or a gradient, in evaluation or training, or changes what the attention owns, can do or is
// refused, by itself or where up to two other options are changed. `maker` reads
// AttentionContext::options; `options` are complete.
std::vector<ConformanceResult> CheckOptionEffects(absl::string_view name,
                                                  const AttentionMaker& maker,
                                                  const google::protobuf::Any& options);

}  // namespace lra::internal

#endif  // LRA_MODELS_CONFORMANCE_OPTION_EFFECTS_H_
