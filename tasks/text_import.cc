#include "tasks/text_import.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/classes.h"
#include "datasets/code_points.h"
#include "datasets/data_directory.h"
#include "datasets/leakage.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "lra/data_root.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "tasks/data_only.h"
#include "tasks/dataset_builder.h"
#include "tasks/task.h"

namespace lra {
namespace {

// More classes are taken for a wrong column: always above the first number, and above the second
// where most labels stand once or twice.
constexpr size_t kMostTextClasses = 10'000, kManyTextClasses = 100;
constexpr size_t kMostLabelBytes = 1000;
// With so many texts, a tenth of them is one.
constexpr int64_t kFewestToCut = 10;

struct SplitFile {
  std::string split, path;
};

absl::StatusOr<std::vector<SplitFile>> FilesOf(const TextImportOptions& options) {
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

// --- Labels ---

// How many examples each has in the first file, which validation may be cut from: 0 if it stands
// in others alone.
using LabelCounts = std::map<std::string, int64_t>;

// With their numbers, in their order; empty where some label is no whole number.
std::vector<std::pair<int64_t, std::string>> Numbered(const LabelCounts& labels) {
  std::vector<std::pair<int64_t, std::string>> numbered;
  for (const auto& [label, examples] : labels) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(label, &number)) return {};
    numbered.emplace_back(number, label);
  }
  std::sort(numbered.begin(), numbered.end());
  return numbered;
}

std::vector<std::string> InOrder(const LabelCounts& labels) {
  std::vector<std::string> ordered;
  for (auto& [number, label] : Numbered(labels)) ordered.push_back(std::move(label));
  if (!ordered.empty()) return ordered;
  for (const auto& [label, examples] : labels) ordered.push_back(label);
  return ordered;
}

// "1" and "01" would be two classes.
absl::Status CheckNumbers(const std::string& paths, const LabelCounts& labels) {
  const std::vector<std::pair<int64_t, std::string>> numbered = Numbered(labels);
  const auto twice =
      std::adjacent_find(numbered.begin(), numbered.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == numbered.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      paths, ": the labels ", QuotedName(twice->second), " and ", QuotedName((twice + 1)->second),
      " are one number, ", twice->first, "; write it in one way"));
}

// --- The first reading ---

struct TextSurvey {
  LabelCounts labels;
  int64_t examples = 0, longest_bytes = 0, longer_texts = 0;
};

absl::Status CheckNewLabel(const TextRow& row, size_t labels) {
  if (row.label.size() > kMostLabelBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(row.where, ": the label ", QuotedName(row.label, kExcerptOfBytes), " has ",
                     row.label.size(), " bytes, at most ", kMostLabelBytes,
                     " are taken: does --label name ", "the labels?"));
  }
  if (HasReplacement(row.label)) {
    return absl::DataLossError(absl::StrCat(row.where, ": the label is ", Excerpt(row.label),
                                            ", which is not UTF-8; write the file as UTF-8"));
  }
  if (labels <= kMostTextClasses) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      row.where, ": ", QuotedName(row.label, kExcerptOfBytes), " is label number ", labels,
      "; at most ", kMostTextClasses, " are classes: does --label name the labels?"));
}

std::string PathsOf(const std::vector<SplitFile>& files) {
  return absl::StrJoin(files, ", ", [](std::string* out, const SplitFile& file) {
    absl::StrAppend(out, file.path);
  });
}

absl::Status CheckLabels(const std::vector<SplitFile>& files, const TextSurvey& survey) {
  const size_t labels = survey.labels.size();
  const std::string first = QuotedName(survey.labels.begin()->first, kExcerptOfBytes);
  if (labels < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathsOf(files), ": every label is ", first, "; two classes are the least"));
  }
  LRA_RETURN_IF_ERROR(CheckNumbers(PathsOf(files), survey.labels));
  if (labels <= kManyTextClasses || 2 * static_cast<int64_t>(labels) <= survey.examples) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(PathsOf(files), ": the labels of ", survey.examples, " texts have ", labels,
                   " values, such as ", first, "; does --label name the labels?"));
}

// Validation is a tenth, rounded down: of the pool (SEED42), or of each class of train (HOLDOUT).
absl::Status CheckCanValidate(const std::vector<SplitFile>& files, const TextSurvey& survey) {
  const std::string& path = files.front().path;
  if (files.front().split == kAllSplit) {
    if (survey.examples >= kFewestToCut) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", survey.examples, " texts, ", kFewestToCut, " are the least"));
  }
  int64_t largest = 0;
  for (const auto& [label, examples] : survey.labels) largest = std::max(largest, examples);
  const bool has_validation = files.size() == 3;
  if (has_validation || largest >= kFewestToCut) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the largest class of ", path, " has ", largest, " texts, ", kFewestToCut,
                   " are needed for one of them to validate; give --validation"));
}

// Reads everything once: what is wrong, which labels there are, and how long texts are.
absl::StatusOr<TextSurvey> SurveyTexts(const std::vector<SplitFile>& files,
                                       const TextFields& fields, int64_t read_bytes,
                                       Progress* progress) {
  TextSurvey survey;
  for (const SplitFile& file : files) {
    LRA_ASSIGN_OR_RETURN(const std::unique_ptr<TextRows> rows, OpenTextRows(file.path, fields));
    const int64_t before = survey.examples;
    while (true) {
      LRA_ASSIGN_OR_RETURN(const std::optional<TextRow> row, rows->Next());
      if (!row.has_value()) break;
      const auto [label, is_new] = survey.labels.try_emplace(row->label, 0);
      if (is_new) LRA_RETURN_IF_ERROR(CheckNewLabel(*row, survey.labels.size()));
      label->second += &file == &files.front() ? 1 : 0;
      const auto size_bytes = static_cast<int64_t>(row->text.size());
      survey.longest_bytes = std::max(survey.longest_bytes, size_bytes);
      survey.longer_texts += size_bytes > read_bytes ? 1 : 0;
      progress->Update(++survey.examples);
    }
    if (survey.examples == before) {
      return absl::DataLossError(absl::StrCat(file.path, ": has no examples"));
    }
  }
  LRA_RETURN_IF_ERROR(CheckLabels(files, survey));
  LRA_RETURN_IF_ERROR(CheckCanValidate(files, survey));
  return survey;
}

// --- The second reading ---

// Everything that is known before the first example is written.
Manifest TextManifest(const std::string& task, const TextSurvey& survey) {
  Manifest manifest;
  manifest.set_format_version(kDatasetFormatVersion);
  manifest.set_origin("imported");
  TaskSpec* spec = manifest.mutable_spec();
  spec->set_name(task);
  spec->set_version(1);
  spec->set_content(TaskSpec::TEXT);
  spec->set_vocabulary_size(256);
  spec->set_max_length_tokens(static_cast<int32_t>(survey.longest_bytes));
  spec->set_classes(static_cast<int32_t>(survey.labels.size()));
  spec->set_metric(TaskSpec::ACCURACY);
  for (std::string& name : InOrder(survey.labels)) manifest.add_class_names(std::move(name));
  return manifest;
}

class LabelledTextReader : public RawReader {
 public:
  LabelledTextReader(const std::vector<SplitFile>& files, const TextFields& fields,
                     const Manifest& manifest)
      : files_(files), fields_(fields) {
    for (int i = 0; i < manifest.class_names_size(); ++i) labels_[manifest.class_names(i)] = i;
  }

  absl::StatusOr<std::optional<RawExample>> Next() override {
    while (split_ < files_.size()) {
      if (rows_ == nullptr) {
        LRA_ASSIGN_OR_RETURN(rows_, OpenTextRows(files_[split_].path, fields_));
      }
      LRA_ASSIGN_OR_RETURN(std::optional<TextRow> row, rows_->Next());
      if (row.has_value()) return RawOf(*std::move(row));
      sources_.push_back(rows_->Source());
      rows_ = nullptr;
      ++split_;
    }
    return std::nullopt;
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

 private:
  absl::StatusOr<std::optional<RawExample>> RawOf(TextRow row) const {
    const auto label = labels_.find(row.label);
    if (label == labels_.end()) {
      return absl::DataLossError(absl::StrCat(row.where, ": the label ", Excerpt(row.label),
                                              " is new: the file was changed while it was read"));
    }
    RawExample raw;
    raw.split = static_cast<int>(split_);
    raw.bytes = std::move(row.text);
    raw.where = std::move(row.where);
    raw.label = label->second;
    return raw;
  }

  const std::vector<SplitFile> files_;
  const TextFields fields_;
  std::map<std::string, int32_t> labels_;
  size_t split_ = 0;
  std::unique_ptr<TextRows> rows_;  // of the current split; nullptr between files
  std::vector<ManifestSource> sources_;
};

absl::StatusOr<Manifest> WriteTexts(const TextImportOptions& options,
                                    const std::vector<SplitFile>& files, const TextSurvey& survey,
                                    absl::string_view directory) {
  Progress progress({.label = absl::StrCat("import ", options.task),
                     .unit = "examples",
                     .total = survey.examples,
                     .quiet = options.quiet});
  const Manifest head = TextManifest(options.task, survey);
  Manifest with_splits = head;
  for (const SplitFile& file : files) with_splits.add_splits()->set_name(file.split);
  const std::unique_ptr<Task> task = MakeDataOnlyTask(with_splits);
  LabelledTextReader reader(files, options.fields, head);
  DatasetBuilder builder(directory, head, task->Splits());
  LRA_RETURN_IF_ERROR(ImportFrom(*task, &reader, /*fraction_read=*/nullptr, directory,
                                 options.threads, &progress, &builder));
  LRA_ASSIGN_OR_RETURN(Manifest manifest, builder.Finish());
  progress.Finish();
  return manifest;
}

// --- What is said of it ---

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
absl::Status WriteTextRules(absl::string_view directory, int64_t read_tokens, TextImport* result) {
  const Manifest& manifest = result->manifest;
  LRA_ASSIGN_OR_RETURN(TaskFile rules, GenericRules(manifest));
  rules.set_description(absl::StrCat("Imported texts: ", manifest.spec().classes(), " classes"));
  DataView* view = (*rules.mutable_protocol())["fair"].mutable_view();
  view->set_max_length_tokens(
      static_cast<int32_t>(std::min<int64_t>(read_tokens, manifest.spec().max_length_tokens())));
  result->view = *view;
  result->validation_examples = ValidationExamples(manifest, view->split());
  return WriteFileAtomically(JoinPath(directory, kDataOnlyTaskFile), DataOnlyRulesText(rules));
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

absl::StatusOr<StagingDirectory> StageTexts(const std::string& directory) {
  absl::StatusOr<StagingDirectory> staging = StagingDirectory::Create(directory);
  if (!absl::IsAlreadyExists(staging.status())) return staging;
  return absl::AlreadyExistsError(absl::StrCat(
      staging.status().message(), "; it is left alone: remove it, or choose another --out"));
}

}  // namespace

absl::StatusOr<TextImport> ImportTexts(const TextImportOptions& options) {
  LRA_RETURN_IF_ERROR(CheckDataOnlyName(options.task));
  LRA_ASSIGN_OR_RETURN(const std::vector<SplitFile> files, FilesOf(options));
  // What is missing is said before the first file is read.
  for (const SplitFile& file : files) {
    LRA_RETURN_IF_ERROR(OpenTextRows(file.path, options.fields).status());
  }
  const int64_t read_tokens =
      options.max_length_tokens > 0 ? options.max_length_tokens : kUsualTextTokens;
  TextImport result;
  result.directory = options.out.empty() ? DefaultDataDirectory(options.task) : options.out;
  LRA_RETURN_IF_ERROR(CheckOut(result.directory, options.task));
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StageTexts(result.directory));
  Progress progress(
      {.label = absl::StrCat("read ", options.task), .unit = "examples", .quiet = options.quiet});
  LRA_ASSIGN_OR_RETURN(const TextSurvey survey,
                       SurveyTexts(files, options.fields, read_tokens, &progress));
  progress.Finish();
  result.longer_texts = survey.longer_texts;
  LRA_ASSIGN_OR_RETURN(result.manifest, WriteTexts(options, files, survey, staging.path()));
  LRA_RETURN_IF_ERROR(Annotate(CheckClasses(result.manifest), PathsOf(files)));
  result.notes = DescribeClasses(result.manifest);
  for (std::string& overlap : DescribeOverlap(result.manifest))
    result.notes.push_back(std::move(overlap));
  LRA_RETURN_IF_ERROR(WriteTextRules(staging.path(), read_tokens, &result));
  LRA_RETURN_IF_ERROR(staging.Commit());
  result.rules_path = JoinPath(result.directory, kDataOnlyTaskFile);
  const absl::Status is_found = CheckDataOnlyFolder(result.directory, options.task);
  if (!is_found.ok()) result.notes.push_back(std::string(is_found.message()));
  return result;
}

}  // namespace lra
