// Promise O: what a user can rely on for every option of an attention.
#ifndef LRA_MODELS_CONFORMANCE_OPTION_RULES_H_
#define LRA_MODELS_CONFORMANCE_OPTION_RULES_H_

#include <vector>

#include "models/conformance/conformance.h"

namespace lra::internal {

// One result for each option that --set finds: it is set in `options`, a number has a (lra.range),
// and the factory refuses it unset and outside of its values, by name. `maker` reads
// AttentionContext::options; `options` are complete. None where the attention has no options.
std::vector<ConformanceResult> CheckOptionRules(absl::string_view name, const AttentionMaker& maker,
                                                const google::protobuf::Any& options);

}  // namespace lra::internal

#endif  // LRA_MODELS_CONFORMANCE_OPTION_RULES_H_
