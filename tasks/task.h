// What a task is: raw files or a seed in, tokens and labels out, plus its own oracle. No LibTorch.
//
// To add one: a source (or a folder) with a class derived from Task, LRA_REGISTER(TaskRegistry, "name", Factory),
// and configs/tasks/name.textproto. Everything else (shards, hashing, verification, views, loader) is shared.
#ifndef LRA_TASKS_TASK_H_
#define LRA_TASKS_TASK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/any.pb.h"
#include "lra/registry.h"
#include "lra/task_spec.pb.h"

namespace lra {

// An example as it is stored.
struct EncodedExample {
  std::vector<int32_t> tokens;  // ids 1 .. V-1
  int32_t label = 0;
};

// A split's name and how many examples a generator makes of it.
struct SplitSize {
  std::string name;
  int64_t examples = 0;
};

// A parsed line of a raw file with where it came from, for errors: "basic_val.tsv:17".
struct RawExample {
  std::string text;
  std::string where;
};

// Streams the raw examples of one split, in order. One consumer.
class RawReader {
 public:
  virtual ~RawReader() = default;
  // nullopt at the end.
  virtual absl::StatusOr<std::optional<RawExample>> Next() = 0;
};

// A property of an input that needs no model, for `lra baseline` (ListOps: the root operator).
struct Shortcut {
  std::string name;         // "root_operator"
  std::string description;  // a sentence for the table
  // Names of the values; Task::ShortcutValue returns an index into it.
  std::vector<std::string> values;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual TaskSpec Spec() const = 0;

  // --- Generated tasks -------------------------------------------------------------------------------------------
  // Empty for tasks that can only be imported.
  virtual std::vector<SplitSize> GeneratedSplits() const { return {}; }
  // Example `index` of split number `split` (order of GeneratedSplits). Attempts are counted from *attempt; on return
  // it is the attempt that succeeded. A duplicate is resolved by calling again with *attempt + 1. Depends on
  // (seed, split, index, *attempt) only; safe for concurrent use.
  virtual absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                                  uint32_t* attempt) const;

  // --- Imported tasks --------------------------------------------------------------------------------------------
  // For each split its file name inside the official folder or archive (matched at the end of the path).
  virtual std::vector<std::pair<std::string, std::string>> RawFiles() const { return {}; }
  // Checks the first line of a raw file, if the format has a header.
  virtual absl::Status CheckHeader(absl::string_view line) const { return absl::OkStatus(); }
  virtual bool HasHeader() const { return false; }
  // One line (without line end) to an example; errors say the column and the value (the caller adds file and line).
  // Safe for concurrent use.
  virtual absl::StatusOr<EncodedExample> Encode(absl::string_view line) const;

  // --- Everybody -------------------------------------------------------------------------------------------------
  // Recomputes the label from the tokens by an algorithm that shares no code with Generate or Encode; Unimplemented
  // if labels do not follow from tokens. Safe for concurrent use.
  virtual absl::StatusOr<int32_t> OracleLabel(absl::Span<const uint16_t> tokens) const;
  // Readable form, e.g. "[MAX 2 [SM 3 4 ] 7 ]".
  virtual std::string ToText(absl::Span<const uint16_t> tokens) const = 0;
  // nullopt if the task has none.
  virtual std::optional<Shortcut> ShortcutInfo() const { return std::nullopt; }
  virtual int ShortcutValue(absl::Span<const uint16_t> tokens) const { return 0; }
};

// Options: the task's own message, packed (TaskFile.options merged with --set).
using TaskRegistry = Registry<Task, const google::protobuf::Any&>;

}  // namespace lra

#endif  // LRA_TASKS_TASK_H_
