// Promises S and C: what a registered attention says of itself, and its file beside protocols.
#ifndef LRA_MODELS_CONFORMANCE_REGISTRATION_RULES_H_
#define LRA_MODELS_CONFORMANCE_REGISTRATION_RULES_H_

#include <vector>

#include "models/conformance/conformance.h"

namespace lra::internal {

// S: every text of the traits that lists and refusals show is there, and the reason why there is no
// choice of a causal form exactly where there is none.
ConformanceResult CheckWords(absl::string_view name, const Traits& traits);

// C: with what configs/attentions/<name>.textproto says, no protocol drops weights of an attention
// that has none to drop. Its runs would be refused. Protocols without rules for ListOps are passed
// over; one that cannot be read breaks the promise. `traits` are those of its file's options.
ConformanceResult CheckDropout(absl::string_view name, const Traits& traits);

// Both of a registered attention: S with these options, C with those of its file.
std::vector<ConformanceResult> CheckRegistration(absl::string_view name,
                                                 const google::protobuf::Any& options);

}  // namespace lra::internal

#endif  // LRA_MODELS_CONFORMANCE_REGISTRATION_RULES_H_
