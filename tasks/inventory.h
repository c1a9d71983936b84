// What `lra data list` and `lra data show` tell about prepared data.
#ifndef LRA_TASKS_INVENTORY_H_
#define LRA_TASKS_INVENTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

struct DatasetStatus {
  std::string task;
  std::string description;
  std::string directory;
  // "missing", "present" (its manifest is in order; bytes are not hashed), or "damaged".
  std::string state;
  std::string origin;      // "generated", "imported"; empty unless present
  bool canonical = false;  // by its manifest
  int64_t examples = 0;
  int64_t size_bytes = 0;
  // The command that makes the data; of imported data also what --raw takes instead of a pipe.
  std::string command, raw;
};

absl::StatusOr<DatasetStatus> Inspect(absl::string_view task, absl::string_view directory);

struct ShownExample {
  std::string split;
  int64_t index = 0;
  int64_t length_tokens = 0;
  int32_t label = 0;
  std::string source;  // readable: the task's text form, token names, or ids
};

// The first `count` examples of a stored split, as they are stored; of the first split where
// `split` is empty.
absl::StatusOr<std::vector<ShownExample>> ShowExamples(absl::string_view directory,
                                                       absl::string_view split, int64_t count);

// The same examples on one PNG (tasks/picture.h), written to `path`.
absl::Status DrawExamples(absl::string_view directory, absl::string_view split, int64_t count,
                          absl::string_view path);

}  // namespace lra

#endif  // LRA_TASKS_INVENTORY_H_
