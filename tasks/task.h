// A task turns raw files or a seed into tokens and labels, and has an oracle of its own. No
// LibTorch.
//
// To add a task, write tasks/<name>/<name>.cc with a class derived from Task and
// LRA_REGISTER(TaskRegistry, "name", Factory), <name>.proto beside it, and
// configs/tasks/<name>.textproto (docs/adding_a_task.md). Everything else (shards, hashing,
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
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/archive.h"
#include "datasets/example.h"
#include "datasets/manifest.pb.h"
#include "datasets/strata.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/message.h"
#include "lra/config.pb.h"
#include "lra/registry.h"
#include "lra/task_spec.pb.h"
#include "tasks/baseline_method.h"

namespace lra {

// A split's name, and how many examples a generator makes of it (0 for tasks that can only be
// imported).
struct SplitSize {
  std::string name;
  int64_t examples = 0;
};

// A line, a record or a file of the raw data. `where` says where it came from, for errors:
// "basic_val.tsv:17".
struct RawExample {
  int split = 0;  // index in Task::Splits
  std::string bytes;
  std::string where;
  // For readers that are not ordered: identifies the example in RawReader::Order.
  uint64_t key = 0;
  // The label if the raw data has it outside of `bytes` (as the folder of a review does).
  int32_t label = 0;
};

// An entry of RawReader::Order.
struct OrderedExample {
  uint64_t key = 0;
  int split = 0;
  // Replaces the label that Encode gave, if the label stands in another file than its image.
  std::optional<int32_t> label;
};

// Streams the raw examples of all splits to one consumer.
class RawReader {
 public:
  virtual ~RawReader() = default;
  // Returns nullopt at the end. Errors name file and line.
  virtual absl::StatusOr<std::optional<RawExample>> Next() = 0;
  // The files that were read so far, with size and SHA-256.
  virtual const std::vector<ManifestSource>& sources() const = 0;
  // True if the examples of each split come in their final order. False if they come as the source
  // holds them (archives pack in any order); then Order gives the final order.
  virtual bool is_ordered() const { return true; }
  // To be called after the end: every key of Next once, split by split in final order; keys that
  // turned out to be no part of the data are left out. An error if something is missing or occurs
  // twice.
  virtual absl::StatusOr<std::vector<OrderedExample>> Order() {
    return std::vector<OrderedExample>();
  }
  // To be called after the end: what was left out and why.
  virtual std::vector<SkippedExamples> skipped() const { return {}; }
};

// All const functions are safe for concurrent use.
class Task {
 public:
  virtual ~Task() = default;
  virtual TaskSpec Spec() const = 0;
  // The splits in the manifest's order. Their names are "train", "validation" and "test", or "all"
  // for a single one that views cut.
  virtual std::vector<SplitSize> Splits() const = 0;

  // --- Generated tasks ---
  virtual bool CanGenerate() const { return false; }
  // Generates example `index` of split number `split`. Attempts start at *attempt; on return
  // *attempt is the one that succeeded. If the result is a duplicate, the caller tries again with
  // *attempt + 1. The result depends on (seed, split, index, *attempt) only. InvalidArgument if the
  // options do not allow any example.
  virtual absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                                  uint32_t* attempt) const;
  // Columns that generated examples have beside tokens and label; EncodedExample.extra holds their
  // values.
  virtual std::vector<ExtraColumn> ExtraColumns() const { return {}; }

  // --- Imported tasks ---
  // What `--raw` takes, for people: "lra_release.gz or a folder with basic_{train,val,test}.tsv".
  virtual std::string RawDescription() const { return ""; }
  // InvalidArgument where the task is only generated.
  virtual absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const;
  // Errors name the column and the value; the caller adds raw.where.
  virtual absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const;
  // The raw form of an example, for round trips: Encode(ToRaw(x)) is x.
  virtual absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const;
  // Fills an empty folder with a little made-up raw data in the official layout, which `lra check`
  // imports. Returns how many examples of each split the import must give, in the order of
  // Splits().
  virtual absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                           uint32_t seed) const;

  // --- All tasks ---
  // Whether labels follow from examples of this origin ("generated", "imported").
  virtual bool HasOracle(absl::string_view origin) const { return false; }
  // Recomputes the label by an algorithm that shares no code with Generate or Encode; nullopt if
  // the example is ambiguous.
  virtual absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const;
  // Readable form, e.g. "[MAX 2 [SM 3 4 ] 7 ]".
  virtual std::string ToText(const StoredExample& example) const = 0;
  // The task's trivial baselines beside the majority class, for data seen through `view`, weakest
  // first: what can be had without what the task is about. tasks/linear_baseline.h and
  // tasks/table_baseline.h have some to choose from.
  virtual std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const;
  // The same where the next token is guessed, beside those that serve every task
  // (tasks/token_baseline.h, which also makes a table of a task's own).
  virtual std::vector<std::unique_ptr<BaselineMethod>> TokenBaselines(const DataView& view) const;
  // Ways to sort the examples of `split` by what they ask, for `lra profile`. What must be learned
  // is learned from `train`; both are seen through `view`. Unless a task knows more: by length,
  // where lengths differ. Empty where this data does not allow any.
  virtual absl::StatusOr<std::vector<Strata>> StrataOf(const SplitView& train,
                                                       const SplitView& split, const DataView& view,
                                                       int threads) const;
};

// Factories take the task's own options message, packed (TaskFile.options merged with --set).
using TaskRegistry = Registry<Task, const google::protobuf::Any&>;

// Whether this program has the task, or rules for it lie beside its data (tasks/data_only.h), also
// where they cannot be read: LoadTaskFile() says what is wrong with them.
bool KnowsTask(absl::string_view name);

// The task that a data set belongs to, with the options that the data was made with (the defaults
// if the manifest has none). InvalidArgument if KnowsTask is false.
absl::StatusOr<std::unique_ptr<Task>> TaskOf(const Manifest& manifest);

// InvalidArgument if prepared data belongs to another task, or to a version of the task that this
// program does not make. Called before the data is used for anything; data that cannot be read is
// left to whoever opens it.
absl::Status CheckDataOfTask(const std::string& data_dir, absl::string_view task);

}  // namespace lra

#endif  // LRA_TASKS_TASK_H_
