// What a task is: raw files or a seed in, tokens and labels out, plus its own oracle. No LibTorch.
//
// To add one: a source (or a folder) with a class derived from Task, LRA_REGISTER(TaskRegistry,
// "name", Factory), and configs/tasks/name.textproto. Everything else (shards, hashing,
// verification, views, loader) is shared.
#ifndef LRA_TASKS_TASK_H_
#define LRA_TASKS_TASK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/archive.h"
#include "datasets/example.h"
#include "datasets/manifest.pb.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/message.h"
#include "lra/registry.h"
#include "lra/status_macros.h"
#include "lra/task_spec.pb.h"

namespace lra {

// A split's name, and how many examples a generator makes of it (0 for tasks that can only be
// imported).
struct SplitSize {
  std::string name;
  int64_t examples = 0;
};

// A line, a record or a file of the raw data, with where it came from, for errors:
// "basic_val.tsv:17".
struct RawExample {
  int split = 0;  // number in Task::Splits
  std::string bytes;
  std::string where;
  // Of readers that are not ordered: names the example in RawReader::Order.
  uint64_t key = 0;
  // What the raw file says outside `bytes` (the folder of a review).
  int32_t label = 0;
};

// An example of RawReader::Order.
struct OrderedExample {
  uint64_t key = 0;
  int split = 0;
  // Replaces the label that Encode gave (a label that stands in another file than its image).
  std::optional<int32_t> label;
};

// Streams the raw examples of all splits. One consumer.
class RawReader {
 public:
  virtual ~RawReader() = default;
  // nullopt at the end. Errors name file and line.
  virtual absl::StatusOr<std::optional<RawExample>> Next() = 0;
  // The files that were read so far, with size and SHA-256.
  virtual const std::vector<ManifestSource>& sources() const = 0;
  // True: each split's examples come in their final order. False: they come as the source holds
  // them (archives pack in any order), and Order says how the data is ordered.
  virtual bool is_ordered() const { return true; }
  // After the end: every key of Next once, split by split in final order. An error for what is
  // missing or twice.
  virtual absl::StatusOr<std::vector<OrderedExample>> Order() {
    return std::vector<OrderedExample>();
  }
  // What was left out and why; after the end.
  virtual std::vector<SkippedExamples> skipped() const { return {}; }
};

// A property of an input that needs no model, for `lra baseline` (ListOps: the root operator).
struct Shortcut {
  std::string name;         // "root_operator"
  std::string description;  // a sentence for the table
  // Names of the values; Task::ShortcutValue returns an index into it.
  std::vector<std::string> values;
};

// Everything const is safe for concurrent use.
class Task {
 public:
  virtual ~Task() = default;
  virtual TaskSpec Spec() const = 0;
  // In the manifest's order; names are "train", "validation", "test", or the one "all" that views
  // cut.
  virtual std::vector<SplitSize> Splits() const = 0;

  // --- Generated tasks ---
  virtual bool CanGenerate() const { return false; }
  // Example `index` of split number `split`. Attempts are counted from *attempt; on return it is
  // the attempt that succeeded. A duplicate is resolved by calling again with *attempt + 1. Depends
  // on (seed, split, index, *attempt) only. InvalidArgument when the task's options leave no
  // example to be found.
  virtual absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                                  uint32_t* attempt) const;
  // Columns that generated examples have beside tokens and label; EncodedExample.extra holds a row.
  virtual std::vector<ExtraColumn> ExtraColumns() const { return {}; }

  // --- Imported tasks ---
  // What `--raw` takes, for people: "lra_release.gz or a folder with basic_{train,val,test}.tsv".
  virtual std::string RawDescription() const { return ""; }
  virtual absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const;
  // Errors say the column and the value; the caller adds raw.where.
  virtual absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const;
  // The raw form of an example: Encode(ToRaw(x)) is x. For round trips.
  virtual absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const;
  // Fills an empty folder with a little made-up raw data in the official layout: what `lra check`
  // imports. The number of examples of each split that it must give, in the order of Splits().
  virtual absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                           uint32_t seed) const;

  // --- Everybody ---
  // Whether labels follow from examples of this origin ("generated", "imported").
  virtual bool HasOracle(absl::string_view origin) const { return false; }
  // Recomputes the label by an algorithm that shares no code with Generate or Encode. nullopt: the
  // example is ambiguous.
  virtual absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const;
  // Readable form, e.g. "[MAX 2 [SM 3 4 ] 7 ]".
  virtual std::string ToText(const StoredExample& example) const = 0;
  // nullopt if the task has none.
  virtual std::optional<Shortcut> ShortcutInfo() const { return std::nullopt; }
  virtual int ShortcutValue(absl::Span<const int32_t> ids) const { return 0; }
};

// Options: the task's own message, packed (TaskFile.options merged with --set).
using TaskRegistry = Registry<Task, const google::protobuf::Any&>;

// The task that a data set is of, with the options it was made with (the defaults where the
// manifest has none). InvalidArgument when this program has no such task.
absl::StatusOr<std::unique_ptr<Task>> TaskOf(const Manifest& manifest);

// InvalidArgument when prepared data is of another task, or of a version of it that this program
// does not make; before anything else is asked of it. Data that cannot be read is left to whoever
// opens it.
absl::Status CheckDataOfTask(const std::string& data_dir, absl::string_view task);

// InvalidArgument unless every option is set and in range.
absl::Status CheckOptions(absl::string_view task, const google::protobuf::Message& options);

// The options of a task's factory; InvalidArgument when they are of another type too.
template <class Options>
absl::StatusOr<Options> UnpackOptions(absl::string_view task, const google::protobuf::Any& packed) {
  Options options;
  if (!packed.UnpackTo(&options)) {
    return absl::InvalidArgumentError(absl::StrCat("task ", task, " takes options of type ",
                                                   options.GetTypeName(), ", not \"",
                                                   packed.type_url(), "\""));
  }
  LRA_RETURN_IF_ERROR(CheckOptions(task, options));
  return options;
}

}  // namespace lra

#endif  // LRA_TASKS_TASK_H_
