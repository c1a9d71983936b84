// `lra data join`: parts of a generated data set, made anywhere -> the data set.
#ifndef LRA_TASKS_JOIN_H_
#define LRA_TASKS_JOIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/manifest.pb.h"

namespace lra {

struct JoinOptions {
  // Folders that `prepare --shard` made, in any order; every part once.
  std::vector<std::string> parts;
  std::string out;
  int threads = 0;
  bool quiet = false;
};

// Byte for byte what `prepare` makes without --shard: an example whose input another part holds
// too takes its next attempt, as it would have done there. The parts are left as they are.
// InvalidArgument when parts are missing, twice, or of different data; DataLoss for a damaged one.
absl::StatusOr<Manifest> JoinParts(const JoinOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_JOIN_H_
