#include "tasks/array_import.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/example.h"
#include "datasets/npz.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "tasks/array_split.h"
#include "tasks/data_only.h"
#include "tasks/dataset_builder.h"
#include "tasks/task.h"

namespace lra {
namespace {

// "ids", "grey pictures of 28 x 28 pixels".
std::string ContentOf(const ArraySplit& split) {
  if (!split.has_images()) return "ids";
  return absl::StrCat(split.content() == TaskSpec::RGB_IMAGE ? "colour" : "grey", " pictures of ",
                      split.side_pixels(), " x ", split.side_pixels(), " pixels");
}

absl::StatusOr<std::vector<ArraySplit>> OpenArrays(const std::vector<SplitFile>& files) {
  std::vector<ArraySplit> splits;
  for (const SplitFile& file : files) {
    LRA_ASSIGN_OR_RETURN(ArraySplit split, ArraySplit::Open(file.path));
    splits.push_back(std::move(split));
    const std::string first = ContentOf(splits.front()), content = ContentOf(splits.back());
    if (content != first)
      return absl::InvalidArgumentError(
          absl::StrCat(files[0].path, " holds ", first, ", ", file.path, " ", content,
                       "; all files hold ids, or pictures of one kind and side"));
  }
  return splits;
}

// What follows from all examples.
struct ArraySurvey {
  int64_t examples = 0, longest_tokens = 0, longer = 0, largest_id = 0, largest_label = 0;
  int64_t largest_class = 0;  // of the first file
};

absl::StatusOr<ArraySurvey> SurveyArrays(const std::vector<ArraySplit>& splits,
                                         int64_t read_tokens) {
  ArraySurvey survey;
  std::map<int32_t, int64_t> counts;
  for (const ArraySplit& split : splits) {
    for (int64_t i = 0; i < split.examples(); ++i) {
      LRA_ASSIGN_OR_RETURN(const EncodedExample example, split.Example(i));
      const auto length = static_cast<int64_t>(example.tokens.size());
      survey.longest_tokens = std::max(survey.longest_tokens, length);
      survey.longer += read_tokens > 0 && length > read_tokens ? 1 : 0;
      survey.largest_id = std::max<int64_t>(
          survey.largest_id, *std::max_element(example.tokens.begin(), example.tokens.end()));
      survey.largest_label = std::max<int64_t>(survey.largest_label, example.label);
      if (&split == &splits[0])
        survey.largest_class = std::max(survey.largest_class, ++counts[example.label]);
      ++survey.examples;
    }
  }
  return survey;
}

Manifest ArrayManifest(const std::string& task, const ArraySplit& first,
                       const ArraySurvey& survey) {
  Manifest manifest = ImportedManifest(task);
  TaskSpec* spec = manifest.mutable_spec();
  spec->set_content(first.content());
  spec->set_max_length_tokens(static_cast<int32_t>(survey.longest_tokens));
  spec->set_vocabulary_size(first.has_images() ? 256 : static_cast<int32_t>(survey.largest_id + 1));
  if (first.has_images()) spec->set_image_side_pixels(static_cast<int32_t>(first.side_pixels()));
  spec->set_classes(static_cast<int32_t>(survey.largest_label + 1));
  return manifest;
}

absl::StatusOr<Manifest> WriteArrays(const ImportOptions& options, const Manifest& head,
                                     const std::vector<SplitFile>& files,
                                     const std::vector<ArraySplit>& splits, int64_t total,
                                     absl::string_view directory) {
  Progress progress({.label = absl::StrCat("import ", options.task),
                     .unit = "examples",
                     .total = total,
                     .quiet = options.quiet});
  std::vector<SplitSize> sizes;
  std::vector<ManifestSource> sources;
  for (size_t s = 0; s < splits.size(); ++s) {
    sizes.push_back({files[s].split, splits[s].examples()});
    sources.push_back(splits[s].source());
  }
  DatasetBuilder builder(directory, head, sizes);
  ExampleHasher hasher;
  for (size_t s = 0; s < splits.size(); ++s) {
    for (int64_t i = 0; i < splits[s].examples(); ++i) {
      HashedExample item;
      item.split = static_cast<int>(s);
      LRA_ASSIGN_OR_RETURN(item.example, splits[s].Example(i));
      item.digest = hasher.Hash(head.spec(), item.example);
      LRA_RETURN_IF_ERROR(builder.Add(item));
      progress.Update(builder.examples());
    }
  }
  builder.SetSources(std::move(sources));
  LRA_ASSIGN_OR_RETURN(Manifest manifest, builder.Finish());
  progress.Finish();
  return manifest;
}

absl::Status CheckFlags(const ImportOptions& options, const ArraySplit& first) {
  if (options.threads != 0)
    return absl::InvalidArgumentError("--threads changes nothing where arrays are imported");
  if (options.max_length_tokens == 0 || !first.has_images()) return absl::OkStatus();
  return absl::InvalidArgumentError("--max-length cuts texts and ids; pictures are read whole");
}

}  // namespace

absl::StatusOr<bool> AreArrays(const ImportOptions& options) {
  LRA_ASSIGN_OR_RETURN(const std::vector<SplitFile> files, SplitFilesOf(options));
  const auto arrays = std::count_if(files.begin(), files.end(),
                                    [](const SplitFile& file) { return IsNpzPath(file.path); });
  if (arrays == 0 || arrays == static_cast<int64_t>(files.size())) return arrays > 0;
  return absl::InvalidArgumentError(
      absl::StrCat(PathsOf(files), ": some are arrays (.npz) and some are texts; give one kind"));
}

absl::StatusOr<ImportedData> ImportArrays(const ImportOptions& options) {
  LRA_ASSIGN_OR_RETURN(const std::vector<SplitFile> files, SplitFilesOf(options));
  ImportedData result;
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StageImport(options, &result));
  LRA_ASSIGN_OR_RETURN(const std::vector<ArraySplit> splits, OpenArrays(files));
  LRA_RETURN_IF_ERROR(CheckFlags(options, splits[0]));
  const int64_t read_tokens =
      options.max_length_tokens > 0 ? options.max_length_tokens : kMostReadTokens;
  LRA_ASSIGN_OR_RETURN(const ArraySurvey survey, SurveyArrays(splits, read_tokens));
  if (survey.largest_label == 0)
    return absl::InvalidArgumentError(PathsOf(files) +
                                      ": every label is 0; two classes are the least");
  LRA_RETURN_IF_ERROR(CheckCanValidate(files, survey.largest_class, survey.examples, "examples"));
  result.longer_examples = survey.longer;
  const Manifest head = ArrayManifest(options.task, splits[0], survey);
  LRA_ASSIGN_OR_RETURN(result.manifest,
                       WriteArrays(options, head, files, splits, survey.examples, staging.path()));
  LRA_RETURN_IF_ERROR(FinishImport(
      options, files, splits[0].has_images() ? "Imported pictures" : "Imported sequences of ids",
      options.max_length_tokens, &staging, &result));
  return result;
}

}  // namespace lra
