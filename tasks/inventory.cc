#include "tasks/inventory.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "lra/config.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/unregistered.h"
#include "tasks/data_only.h"
#include "tasks/picture.h"
#include "tasks/task.h"
#include "tasks/task_facts.h"

namespace lra {
std::string DataDirectoryOf(const std::string& name) {
  if (FileExists(JoinPath(name, kManifestFile))) return name;
  std::string usual = DefaultDataDirectory(name);
  return KnowsTask(name) || FileExists(JoinPath(usual, kManifestFile)) ? usual : name;
}

std::vector<std::string> DataSetNames() {
  std::vector<std::string> names = ConfigNames("tasks");
  std::error_code error;
  const std::filesystem::directory_iterator root(DataRoot(), error);
  if (error) return names;
  for (const std::filesystem::directory_entry& entry : root) {
    const std::string name = entry.path().filename().string();
    const absl::StatusOr<Manifest> manifest = ReadManifest(entry.path().string());
    if (manifest.ok() && manifest->spec().name() == name) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

namespace {

// What is known without the data.
absl::StatusOr<DatasetStatus> StatusWithoutData(absl::string_view task,
                                                absl::string_view directory) {
  DatasetStatus status;
  status.task = std::string(task);
  status.directory = std::string(directory);
  status.state = "present";
  // What is wrong with one file is no reason to hide the data of other tasks.
  const auto with_error = [&status](const absl::Status& wrong) {
    status.description = absl::StrCat("error: ", wrong.message());
    return status;
  };
  if (!KnowsTask(task)) {
    if (const absl::Status wrong = CheckNoFileOf("task", task); !wrong.ok())
      return with_error(wrong);
    status.command = absl::StrCat("lra data adopt ", task);
    status.description = absl::StrCat("without rules, which this adds: ", status.command);
    return status;
  }
  const absl::StatusOr<TaskFile> file = LoadTaskFile(task);
  if (!file.ok()) return with_error(file.status());
  status.description = file->description();
  if (file->data_only()) return status;
  status.command = absl::StrCat("lra data prepare ", task);
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> implementation, MakeTask(task));
  if (!implementation->CanGenerate()) {
    status.command = file->raw_url().empty() ? absl::StrCat(status.command, " --raw PATH")
                                             : absl::StrCat("curl -sL ", file->raw_url(), " | ",
                                                            status.command, " --raw -");
    status.raw = implementation->RawDescription();
  }
  return status;
}

}  // namespace

absl::StatusOr<DatasetStatus> Inspect(absl::string_view task, absl::string_view directory) {
  LRA_ASSIGN_OR_RETURN(DatasetStatus status, StatusWithoutData(task, directory));
  const absl::StatusOr<Manifest> manifest = ReadManifest(directory);
  if (!manifest.ok()) {
    status.state = absl::IsNotFound(manifest.status()) ? "missing" : "damaged";
    return status;
  }
  status.origin = manifest->origin();
  status.canonical = IsCanonical(*manifest);
  for (const ManifestSplit& split : manifest->splits()) {
    status.examples += split.examples();
    for (const ManifestShard& shard : split.shards()) {
      for (const ManifestFile& shard_file : shard.files()) {
        status.size_bytes += shard_file.size_bytes();
      }
    }
  }
  return status;
}

namespace {

struct OpenSplit {
  Dataset data;
  const internal::MappedSplit* stored = nullptr;
  int64_t shown = 0;
};

absl::StatusOr<OpenSplit> OpenForShow(absl::string_view directory, absl::string_view split,
                                      int64_t count) {
  std::string name(split);
  if (name.empty()) {
    LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(directory));
    name = manifest.splits(0).name();
  }
  OpenSplit open;
  LRA_ASSIGN_OR_RETURN(open.data, Dataset::Open(directory, {.splits = {name}, .allow_part = true}));
  open.stored = open.data.split(name);
  open.shown = std::min(count, open.stored->examples);
  return open;
}

}  // namespace

absl::StatusOr<std::vector<ShownExample>> ShowExamples(absl::string_view directory,
                                                       absl::string_view split, int64_t count) {
  LRA_ASSIGN_OR_RETURN(const OpenSplit open, OpenForShow(directory, split, count));
  const TaskSpec& spec = open.data.spec();
  const absl::StatusOr<std::unique_ptr<Task>> task = TaskOf(open.data.manifest());
  std::vector<ShownExample> shown;
  std::vector<uint16_t> scratch, scratch_b;
  for (int64_t i = 0; i < open.shown; ++i) {
    StoredExample example;
    example.tokens = open.stored->Tokens(i, &scratch);
    if (spec.is_pair()) example.tokens_b = open.stored->Tokens(i, &scratch_b, 1);
    const std::vector<int16_t> extra = open.stored->Extra(i);
    example.extra = extra;
    const int label = open.stored->label(i);
    shown.push_back({.split = open.stored->name,
                     .index = i,
                     .length_tokens = open.stored->length_tokens(i),
                     .source = task.ok() ? (*task)->ToText(example) : TextBySpec(spec, example)});
    if (spec.classes() > 1) shown.back().label = label;
    if (open.data.manifest().class_names_size() > label)
      shown.back().class_name = open.data.manifest().class_names(label);
  }
  return shown;
}

absl::Status DrawExamples(absl::string_view directory, absl::string_view split, int64_t count,
                          absl::string_view path) {
  LRA_ASSIGN_OR_RETURN(const OpenSplit open, OpenForShow(directory, split, count));
  LRA_RETURN_IF_ERROR(CheckPicturesFit(open.shown));
  std::vector<FramedPicture> pictures;
  std::vector<uint16_t> scratch;
  for (int64_t i = 0; i < open.shown; ++i) {
    const absl::Span<const uint16_t> pixels = open.stored->Tokens(i, &scratch);
    pictures.push_back({{pixels.begin(), pixels.end()}, open.stored->label(i)});
  }
  LRA_ASSIGN_OR_RETURN(const std::string png, ContactSheetPng(open.data.spec(), pictures));
  return WriteFileAtomically(path, png);
}

}  // namespace lra
