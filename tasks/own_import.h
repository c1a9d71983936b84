// What imports of a user's own data share, of texts (tasks/text_import.h) and of arrays
// (tasks/array_import.h): which files, into which folder, with which rules, and what is said of it.
#ifndef LRA_TASKS_OWN_IMPORT_H_
#define LRA_TASKS_OWN_IMPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"
#include "lra/config.pb.h"
#include "lra/files.h"

namespace lra {

struct ImportOptions {
  std::string task;
  // Files or folders: train, test and perhaps validation; or all, one pool.
  std::string train, validation, test, all;
  // How much of an example models read, in tokens; 0 = what is usual for its content. Examples are
  // stored whole.
  int64_t max_length_tokens = 0;
  std::string out;  // empty = DefaultDataDirectory
  int threads = 0;
  bool quiet = false;
};

struct ImportedData {
  std::string directory, rules_path;
  Manifest manifest;
  DataView view;  // of the rules
  // How many examples are longer than what models read of them.
  int64_t longer_examples = 0;
  // How many examples the view's validation split has.
  int64_t validation_examples = 0;
  // What a user should know, without a period.
  std::vector<std::string> notes;
};

struct SplitFile {
  std::string split, path;
};

// The files in the order of the splits. InvalidArgument unless there are train and test, or all.
absl::StatusOr<std::vector<SplitFile>> SplitFilesOf(const ImportOptions& options);
// "train.csv, test.csv".
std::string PathsOf(const std::vector<SplitFile>& files);

// Validation is a tenth, rounded down: of the pool (SEED42), or of each class of train (HOLDOUT).
// InvalidArgument if that is no example. `largest_class` counts in the first file; `examples` are
// called `examples_name` in the message: "texts".
absl::Status CheckCanValidate(const std::vector<SplitFile>& files, int64_t largest_class,
                              int64_t examples, absl::string_view examples_name);

// The folder of the new task, to be filled. Sets result->directory. InvalidArgument if the name is
// none or the task would not be found there, AlreadyExists if the folder holds something.
absl::StatusOr<StagingDirectory> StageImport(const ImportOptions& options, ImportedData* result);

// Everything that is known before the first example is written, but for sizes.
Manifest ImportedManifest(const std::string& task);

// Checks the classes of result->manifest, writes the rules beside the data, fills in what follows
// from them, and shows the folder to the world. `description` stands in the rules. Of an example
// models read `read_tokens`; 0 = all of it.
absl::Status FinishImport(const ImportOptions& options, const std::vector<SplitFile>& files,
                          absl::string_view description, int64_t read_tokens,
                          StagingDirectory* staging, ImportedData* result);

}  // namespace lra

#endif  // LRA_TASKS_OWN_IMPORT_H_
