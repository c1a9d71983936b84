// `lra data prepare`: makes a data set from raw files or a seed, in a folder that appears complete
// or not at all.
#ifndef LRA_TASKS_PREPARE_H_
#define LRA_TASKS_PREPARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/manifest.pb.h"

namespace lra {

struct PrepareOptions {
  std::string task;
  // A folder, an archive, or "-" for an archive on standard input; empty = generate.
  std::string raw;
  std::string out;
  // For generated data; absent = the canonical seed of configs/tasks/.
  std::optional<uint32_t> seed;
  // Makes one part of generated data: "0/8" is the first of eight parts, which `lra data join` puts
  // together.
  std::string shard;
  // Fields of the task's options, e.g. "max_depth=5".
  std::vector<std::string> set;
  int threads = 0;
  bool quiet = false;
  // Whether a data set that is there may be replaced; nothing else ever is.
  bool force = false;
};

struct PrepareResult {
  Manifest manifest;
  // Whether the same data was there already, so that nothing was written.
  bool was_there = false;
};

// AlreadyExists if `out` holds other data (or something that is no data set), with advice;
// InvalidArgument for names, options and seeds; DataLoss with file and line for raw files. After an
// error nothing is left behind.
absl::StatusOr<PrepareResult> Prepare(const PrepareOptions& options);

// Whether the generated data that Prepare() would make is there already. What it would refuse
// before its first example is refused.
absl::StatusOr<bool> IsPrepared(const PrepareOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_PREPARE_H_
