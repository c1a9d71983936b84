// Data-only tasks: data that any program wrote in the format of docs/format.md, without code here.
// Its rules lie beside it, in a TaskFile with `data_only` (lra/data_root.h), which AdoptData makes.
#ifndef LRA_TASKS_DATA_ONLY_H_
#define LRA_TASKS_DATA_ONLY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/example.h"
#include "datasets/manifest.pb.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "tasks/task.h"
#include "tasks/verify.h"

namespace lra {

// A task that knows what the manifest says and nothing else: no generator, importer or oracle. It
// encodes single texts, as their bytes (tasks/text_import.h). Beside the majority class, texts and
// pictures have the baselines of any such data.
std::unique_ptr<Task> MakeDataOnlyTask(const Manifest& manifest);

// An example in readable form, by its specification alone: token names, ids, or a text as
// BytesText (tasks/raw_files.h) shows it.
std::string TextBySpec(const TaskSpec& spec, const StoredExample& example);

// InvalidArgument if the task's file says another version of the task than the data.
absl::Status CheckDataOnlyVersion(absl::string_view data_dir, const TaskSpec& held);

// How such data is seen unless its rules are edited: whole examples, bytes of texts, pixels from 1
// on, the stored splits, HOLDOUT where there is no validation split, SEED42 for a pool "all".
// InvalidArgument if there are no splits to train and to test with.
absl::StatusOr<DataView> GenericView(const Manifest& manifest);

// InvalidArgument if a data-only task cannot have this name, which stands in paths and in --task:
// if it is no name, or that of a task with code.
absl::Status CheckDataOnlyName(const std::string& name);
// InvalidArgument if the folder is not DefaultDataDirectory of the task, where its data and rules
// are found by its name.
absl::Status CheckDataOnlyFolder(const std::string& directory, const std::string& task);

// The most tokens that a model reads of an example: the bound of view.max_length_tokens.
inline constexpr int64_t kMostReadTokens = 1 << 20;

// Rules for such data: GenericView and what configs/data_only/ says for its content; and the text
// of the file kDataOnlyTaskFile with these rules.
absl::StatusOr<TaskFile> GenericRules(const Manifest& manifest);
std::string DataOnlyRulesText(const TaskFile& rules);

struct AdoptedData {
  std::string rules_path;
  VerifyReport report;  // of valid data
};

// Verifies the data of a folder and writes GenericRules into it. The errors of CheckDataOnlyName,
// CheckDataOnlyFolder and CheckClasses; AlreadyExists if it has rules; DataLoss if the data is not
// as its manifest says.
absl::StatusOr<AdoptedData> AdoptData(const std::string& directory, const VerifyOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_DATA_ONLY_H_
