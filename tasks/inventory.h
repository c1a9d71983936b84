// What `lra data list` and `lra data show` say about prepared data.
#ifndef LRA_TASKS_INVENTORY_H_
#define LRA_TASKS_INVENTORY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

// Where the data of a folder or a task lies: a folder that holds data is itself, a task means its
// usual place (datasets/data_directory.h).
std::string DataDirectoryOf(const std::string& name);

struct DatasetStatus {
  std::string task;
  std::string description;
  std::string directory;
  // "missing", "present" (the manifest is in order; files are not hashed), or "damaged".
  std::string state;
  std::string origin;      // "generated" or "imported"; empty unless present
  bool canonical = false;  // as the manifest says
  int64_t examples = 0;
  int64_t size_bytes = 0;
  // The command that makes the data and, for imported data, what --raw takes. Of data without rules
  // the one that adds them; of a data-only task none.
  std::string command, raw;
};

// Every task, and every folder of DataRoot() that holds data of its own name; sorted.
std::vector<std::string> DataSetNames();

absl::StatusOr<DatasetStatus> Inspect(absl::string_view task, absl::string_view directory);

struct ShownExample {
  std::string split;
  int64_t index = 0;
  int64_t length_tokens = 0;
  std::optional<int32_t> label;  // unset where the task has one class: there is nothing to tell
  std::string source;            // readable form: the task's text, token names, or ids
  std::string class_name;        // what the label stands for; empty where the data does not say
};

// The first `count` examples of a stored split as they are stored; `split` empty = the first split.
absl::StatusOr<std::vector<ShownExample>> ShowExamples(absl::string_view directory,
                                                       absl::string_view split, int64_t count);

// Draws the same examples into one PNG (tasks/picture.h) at `path`.
absl::Status DrawExamples(absl::string_view directory, absl::string_view split, int64_t count,
                          absl::string_view path);

}  // namespace lra

#endif  // LRA_TASKS_INVENTORY_H_
