#include "tasks/text_import.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/code_points.h"
#include "datasets/data_directory.h"
#include "lra/excerpt.h"
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

// "1", "01" and "1.0" would be three classes. Beside other text they may be names, and so may what
// is not whole, as 1.1 and 1.10 of sections.
absl::Status CheckNumbers(const std::string& paths, const LabelCounts& labels) {
  // By value and its whole part: a double alone does not tell large whole numbers apart.
  std::map<std::pair<double, int64_t>, std::string> spelling;
  absl::Status status;
  for (const auto& [label, examples] : labels) {
    double value = 0;
    int64_t whole = 0;
    if (!absl::SimpleAtod(label, &value)) return absl::OkStatus();
    if (!status.ok() || !(std::abs(value) < 0x1p63) || value != std::trunc(value)) continue;
    if (!absl::SimpleAtoi(label, &whole)) whole = static_cast<int64_t>(value);
    const auto [first, is_new] = spelling.try_emplace({value, whole}, label);
    if (is_new) continue;
    status = absl::InvalidArgumentError(
        absl::StrCat(paths, ": the labels ", QuotedName(first->second), " and ", QuotedName(label),
                     " are one number; write it in one way"));
  }
  return status;
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
  int64_t largest = 0;
  for (const auto& [label, examples] : survey.labels) largest = std::max(largest, examples);
  LRA_RETURN_IF_ERROR(CheckCanValidate(files, largest, survey.examples, "texts"));
  return survey;
}

// --- The second reading ---

// Everything that is known before the first example is written.
Manifest TextManifest(const std::string& task, const TextSurvey& survey) {
  Manifest manifest = ImportedManifest(task);
  TaskSpec* spec = manifest.mutable_spec();
  spec->set_content(TaskSpec::TEXT);
  spec->set_vocabulary_size(256);
  spec->set_max_length_tokens(static_cast<int32_t>(survey.longest_bytes));
  spec->set_classes(static_cast<int32_t>(survey.labels.size()));
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

}  // namespace

absl::StatusOr<ImportedData> ImportTexts(const TextImportOptions& options) {
  LRA_ASSIGN_OR_RETURN(const std::vector<SplitFile> files, SplitFilesOf(options));
  // What is missing is said before the first file is read.
  for (const SplitFile& file : files) {
    LRA_RETURN_IF_ERROR(OpenTextRows(file.path, options.fields).status());
  }
  const int64_t read_tokens =
      options.max_length_tokens > 0 ? options.max_length_tokens : kUsualTextTokens;
  ImportedData result;
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StageImport(options, &result));
  Progress progress(
      {.label = absl::StrCat("read ", options.task), .unit = "examples", .quiet = options.quiet});
  LRA_ASSIGN_OR_RETURN(const TextSurvey survey,
                       SurveyTexts(files, options.fields, read_tokens, &progress));
  progress.Finish();
  result.longer_examples = survey.longer_texts;
  LRA_ASSIGN_OR_RETURN(result.manifest, WriteTexts(options, files, survey, staging.path()));
  LRA_RETURN_IF_ERROR(
      FinishImport(options, files, "Imported texts", read_tokens, &staging, &result));
  return result;
}

}  // namespace lra
