// `lra data join`: puts the parts of a generated data set together, wherever they were made.
#ifndef LRA_TASKS_JOIN_H_
#define LRA_TASKS_JOIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/manifest.pb.h"

namespace lra {

struct JoinOptions {
  // Folders that `prepare --shard` made, in any order; each part once.
  std::vector<std::string> parts;
  std::string out;
  int threads = 0;
  bool quiet = false;
};

// The result equals, byte for byte, what `prepare` makes without --shard: an example whose input
// occurs in an earlier part takes its next attempt, as it would have done there. Other versions of
// the program may have made the parts. The parts are not changed. InvalidArgument if parts are
// missing, occur twice, or belong to different data or to another version of the task; DataLoss for
// a damaged one.
absl::StatusOr<Manifest> JoinParts(const JoinOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_JOIN_H_
