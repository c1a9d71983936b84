#include "tasks/own_import.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/classes.h"
#include "datasets/data_directory.h"
#include "datasets/leakage.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "lra/data_root.h"
#include "lra/status_macros.h"
#include "tasks/data_only.h"

namespace lra {
namespace {

// With so many examples, a tenth of them is one.
constexpr int64_t kFewestToCut = 10;

// How many examples the rule takes for validation, which depends on the counts of the classes but
// not on where they stand.
int64_t ValidationExamples(const Manifest& manifest, DataView::Split rule) {
  std::vector<int32_t> labels;
  const ManifestSplit* train = FindSplit(manifest, "train");
  for (int label = 0; train != nullptr && label < train->label_count_size(); ++label) {
    labels.insert(labels.end(), static_cast<size_t>(train->label_count(label)), label);
  }
  const std::vector<int64_t> examples =
      SplitExamples(manifest, rule, "validation", [&labels](int64_t i) { return labels[i]; });
  return static_cast<int64_t>(examples.size());
}

// Writes the rules beside the data, and fills in what follows from them.
absl::Status WriteRules(absl::string_view directory, absl::string_view description,
                        int64_t read_tokens, ImportedData* result) {
  const Manifest& manifest = result->manifest;
  LRA_ASSIGN_OR_RETURN(TaskFile rules, GenericRules(manifest));
  rules.set_description(absl::StrCat(description, ": ", manifest.spec().classes(), " classes"));
  DataView* view = (*rules.mutable_protocol())["fair"].mutable_view();
  if (read_tokens > 0) {
    view->set_max_length_tokens(
        static_cast<int32_t>(std::min<int64_t>(read_tokens, manifest.spec().max_length_tokens())));
  }
  result->view = *view;
  result->validation_examples = ValidationExamples(manifest, view->split());
  return WriteFileAtomically(JoinPath(directory, kDataOnlyTaskFile), DataOnlyRulesText(rules));
}

// Says of how many classes the rule takes nothing for validation; empty where it takes of each.
std::string RareClassesNote(const Manifest& manifest, const DataView& view) {
  const ManifestSplit* train = FindSplit(manifest, "train");
  if (view.split() != DataView::HOLDOUT || train == nullptr) return "";
  const auto& counts = train->label_count();
  const auto rare = std::count_if(counts.begin(), counts.end(), [](int64_t examples) {
    return examples > 0 && examples < kFewestToCut;
  });
  if (rare == 0) return "";
  return absl::StrCat("validation has no example of ", rare, " of ", counts.size(),
                      " classes: they have fewer than ", kFewestToCut,
                      " in train, of which a tenth is none; give --validation to have more");
}

// A folder of DataRoot() that holds rules is the task of the folder's name.
absl::Status CheckOut(const std::string& directory, const std::string& task) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(directory, error).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  if (path.filename() == task ||
      !std::filesystem::equivalent(path.parent_path(), DataRoot(), error))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--out ", directory, " lies in ", DataRoot(), ", where a folder with rules is ",
                   "the task of its name; call it ", task, ", or choose a folder elsewhere"));
}

}  // namespace

absl::StatusOr<std::vector<SplitFile>> SplitFilesOf(const ImportOptions& options) {
  const bool has_parts =
      !options.train.empty() || !options.validation.empty() || !options.test.empty();
  if (!options.all.empty() && has_parts) {
    return absl::InvalidArgumentError(
        "--all is one pool, which is cut into train, validation and test; give it without --train, "
        "--validation and --test");
  }
  if (!options.all.empty()) return std::vector<SplitFile>{{std::string(kAllSplit), options.all}};
  if (options.train.empty() || options.test.empty()) {
    return absl::InvalidArgumentError(
        "give --train and --test (and, best, --validation), or --all for one pool, which is cut "
        "80/10/10 %");
  }
  std::vector<SplitFile> files = {{"train", options.train}};
  if (!options.validation.empty()) files.push_back({"validation", options.validation});
  files.push_back({"test", options.test});
  return files;
}

std::string PathsOf(const std::vector<SplitFile>& files) {
  return absl::StrJoin(files, ", ", [](std::string* out, const SplitFile& file) {
    absl::StrAppend(out, file.path);
  });
}

absl::Status CheckCanValidate(const std::vector<SplitFile>& files, int64_t largest_class,
                              int64_t examples, absl::string_view examples_name) {
  const std::string& path = files.front().path;
  if (files.front().split == kAllSplit) {
    if (examples >= kFewestToCut) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", examples, " ", examples_name,
                                                   ", ", kFewestToCut, " are the least"));
  }
  const bool has_validation = files.size() == 3;
  if (has_validation || largest_class >= kFewestToCut) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the largest class of ", path, " has ", largest_class, " ", examples_name, ", ",
                   kFewestToCut, " are needed for one of them to validate; give --validation"));
}

absl::StatusOr<StagingDirectory> StageImport(const ImportOptions& options, ImportedData* result) {
  LRA_RETURN_IF_ERROR(CheckDataOnlyName(options.task));
  result->directory = options.out.empty() ? DefaultDataDirectory(options.task) : options.out;
  LRA_RETURN_IF_ERROR(CheckOut(result->directory, options.task));
  absl::StatusOr<StagingDirectory> staging = StagingDirectory::Create(result->directory);
  if (!absl::IsAlreadyExists(staging.status())) return staging;
  return absl::AlreadyExistsError(absl::StrCat(
      staging.status().message(), "; it is left alone: remove it, or choose another --out"));
}

Manifest ImportedManifest(const std::string& task) {
  Manifest manifest;
  manifest.set_format_version(kDatasetFormatVersion);
  manifest.set_origin("imported");
  manifest.mutable_spec()->set_name(task);
  manifest.mutable_spec()->set_version(1);
  manifest.mutable_spec()->set_metric(TaskSpec::ACCURACY);
  return manifest;
}

absl::Status FinishImport(const ImportOptions& options, const std::vector<SplitFile>& files,
                          absl::string_view description, int64_t read_tokens,
                          StagingDirectory* staging, ImportedData* result) {
  LRA_RETURN_IF_ERROR(Annotate(CheckClasses(result->manifest), PathsOf(files)));
  if (std::string empty = EmptyClassesNote(result->manifest); !empty.empty())
    result->notes.push_back(std::move(empty));
  for (std::string& sentence : DescribeClasses(result->manifest))
    result->notes.push_back(std::move(sentence));
  for (std::string& overlap : DescribeOverlap(result->manifest))
    result->notes.push_back(std::move(overlap));
  LRA_RETURN_IF_ERROR(WriteRules(staging->path(), description, read_tokens, result));
  if (std::string rare = RareClassesNote(result->manifest, result->view); !rare.empty())
    result->notes.push_back(std::move(rare));
  LRA_RETURN_IF_ERROR(staging->Commit());
  result->rules_path = JoinPath(result->directory, kDataOnlyTaskFile);
  const absl::Status is_found = CheckDataOnlyFolder(result->directory, options.task);
  if (!is_found.ok()) result->notes.push_back(std::string(is_found.message()));
  return absl::OkStatus();
}

}  // namespace lra
