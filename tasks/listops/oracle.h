// Evaluates a ListOps expression from its tokens. Shares no code with the generator except the ids.
#ifndef LRA_TASKS_LISTOPS_ORACLE_H_
#define LRA_TASKS_LISTOPS_ORACLE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lra::listops {

// Returns the value, 0 .. 9. InvalidArgument names the token at which the expression is malformed.
absl::StatusOr<int32_t> Evaluate(absl::Span<const uint16_t> tokens);

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_ORACLE_H_
