// lra data join --remove-parts
#ifndef LRA_CLI_DATA_JOIN_H_
#define LRA_CLI_DATA_JOIN_H_

#include "absl/status/statusor.h"
#include "tasks/join.h"

namespace lra {

// JoinParts, then removes the parts. InvalidArgument, and nothing is done, if the whole would lie
// in one of them.
absl::StatusOr<Manifest> JoinAndRemoveParts(const JoinOptions& options);

}  // namespace lra

#endif  // LRA_CLI_DATA_JOIN_H_
