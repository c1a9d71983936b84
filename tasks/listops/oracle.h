// Evaluates a ListOps expression from its tokens. Shares nothing with the generator but the ids.
#ifndef LRA_TASKS_LISTOPS_ORACLE_H_
#define LRA_TASKS_LISTOPS_ORACLE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lra::listops {

// 0 .. 9. InvalidArgument names the token at which the expression is malformed.
absl::StatusOr<int32_t> Evaluate(absl::Span<const uint16_t> tokens);

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_ORACLE_H_
