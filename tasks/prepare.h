// `lra data prepare`: raw files or a seed -> a data set in a folder, whole or not at all.
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
  // Folder, archive, or "-" for an archive on standard input; empty = generate.
  std::string raw;
  std::string out;
  // Generated data; absent = the canonical seed of configs/tasks/.
  std::optional<uint32_t> seed;
  // Make one part of generated data: "0/8" is the first of eight (`lra data join` puts them
  // together).
  std::string shard;
  // "max_depth=5": fields of the task's options.
  std::vector<std::string> set;
  int threads = 0;
  bool quiet = false;
  // Replace a data set that is there (never anything else).
  bool force = false;
};

struct PrepareResult {
  Manifest manifest;
  // The same data was there already; nothing was written.
  bool was_there = false;
};

// AlreadyExists when `out` holds other data (or anything that is no data set) and says what to do;
// InvalidArgument for names, options and seeds; DataLoss with file and line for raw files. On any
// error nothing is left behind.
absl::StatusOr<PrepareResult> Prepare(const PrepareOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_PREPARE_H_
