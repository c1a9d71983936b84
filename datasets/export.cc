#include "datasets/export.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/npy.h"
#include "datasets/split_rule.h"
#include "datasets/split_view.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kExportFile[] = "export.json";

template <class T>
absl::Status WriteValues(FileWriter* writer, const std::vector<T>& values) {
  return writer->Write(values.data(), values.size() * sizeof(T));
}

template <class T>
absl::Status WriteColumn(const std::string& path, const std::vector<T>& values) {
  LRA_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Open(path));
  const auto size = static_cast<int64_t>(values.size());
  LRA_RETURN_IF_ERROR(writer.Write(FormatNpyHeader(NpyTypeOf<T>(), {size})));
  LRA_RETURN_IF_ERROR(WriteValues(&writer, values));
  return writer.Close();
}

// [n + 1], from 0 to the number of all tokens of the column.
std::vector<int64_t> OffsetsOf(const SplitView& split, int column) {
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 0; i < split.size(); ++i)
    offsets.push_back(offsets.back() + split.length_tokens(i, column));
  return offsets;
}

// Writes one example after the other. `read` replaces the elements of its vector by an example's.
template <class T, class Read>
absl::Status WriteExamples(const std::string& path, const SplitView& split, int64_t tokens,
                           Read read) {
  LRA_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Open(path));
  LRA_RETURN_IF_ERROR(writer.Write(FormatNpyHeader(NpyTypeOf<T>(), {tokens})));
  std::vector<T> values;
  for (int64_t i = 0; i < split.size(); ++i) {
    read(i, &values);
    LRA_RETURN_IF_ERROR(WriteValues(&writer, values));
  }
  return writer.Close();
}

template <class T>
absl::Status WriteIds(const std::string& path, const SplitView& split, int64_t tokens, int column) {
  std::vector<int32_t> ids;
  return WriteExamples<T>(path, split, tokens, [&](int64_t example, std::vector<T>* narrow) {
    split.Read(example, &ids, column);
    narrow->assign(ids.begin(), ids.end());
  });
}

// One column of token ids, in the smallest type that holds all ids and that PyTorch has.
absl::Status WriteSmallestIds(const std::string& path, const SplitView& split, int64_t tokens,
                              int column) {
  const int32_t largest = split.spec().vocabulary_size() - 1;
  if (largest <= std::numeric_limits<uint8_t>::max())
    return WriteIds<uint8_t>(path, split, tokens, column);
  if (largest <= std::numeric_limits<int16_t>::max())
    return WriteIds<int16_t>(path, split, tokens, column);
  return WriteIds<int32_t>(path, split, tokens, column);
}

// What a model reads; adds up *tokens.
absl::Status WriteInputs(const std::string& stem, const SplitView& split, int64_t* tokens) {
  if (split.has_prompts()) {
    std::vector<int32_t> prompts;
    for (int64_t i = 0; i < split.size(); ++i) prompts.push_back(split.prompt_tokens(i));
    LRA_RETURN_IF_ERROR(WriteColumn(absl::StrCat(stem, ".prompt_tokens.npy"), prompts));
  }
  for (int column = 0; column < (split.spec().is_pair() ? 2 : 1); ++column) {
    const std::string suffix = column == 0 ? ".npy" : "_b.npy";
    const std::vector<int64_t> offsets = OffsetsOf(split, column);
    *tokens += offsets.back();
    LRA_RETURN_IF_ERROR(WriteColumn(absl::StrCat(stem, ".offsets", suffix), offsets));
    if (split.spec().is_real()) {
      return WriteExamples<float>(
          absl::StrCat(stem, ".values.npy"), split, offsets.back(),
          [&](int64_t example, std::vector<float>* values) { split.ReadReal(example, values); });
    }
    LRA_RETURN_IF_ERROR(
        WriteSmallestIds(absl::StrCat(stem, ".ids", suffix), split, offsets.back(), column));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExportedSplit> WriteSplit(const std::string& folder, const Manifest& manifest,
                                         const SplitView& split, const DataView& view,
                                         bool without_inputs) {
  LRA_ASSIGN_OR_RETURN(const DataView::Split rule, ResolveSplitRule(manifest, view));
  ExportedSplit exported = {.name = split.name(),
                            .stored_split = split.stored_split(),
                            .examples = split.size(),
                            .fingerprint = SplitFingerprint(manifest, rule, split.name())};
  const std::string stem = JoinPath(folder, split.name());
  LRA_RETURN_IF_ERROR(WriteColumn(absl::StrCat(stem, ".index.npy"), StoredIndices(split)));
  LRA_RETURN_IF_ERROR(WriteColumn(absl::StrCat(stem, ".labels.npy"), Labels(split)));
  if (!without_inputs) LRA_RETURN_IF_ERROR(WriteInputs(stem, split, &exported.tokens));
  return exported;
}

// `resolved` is the view with every field set.
absl::Status WriteDescription(const std::string& folder, const Dataset& data,
                              const DataView& resolved, const TaskSpec& spec,
                              const std::vector<ExportedSplit>& splits) {
  Json json = {{"task", spec.name()},
               {"task_version", spec.version()},
               {"data", std::filesystem::absolute(data.directory()).lexically_normal().string()},
               {"view", Json::object()},
               {"classes", spec.classes()},
               {"vocabulary_size", spec.vocabulary_size()},
               {"max_length_tokens", spec.max_length_tokens()},
               {"splits", Json::object()}};
  for (const auto& [path, value] : LeafFields(resolved)) json["view"][path] = value;
  for (const std::string& name : spec.token_names()) json["token_names"].push_back(name);
  for (const ExportedSplit& split : splits) {
    json["splits"][split.name] = {{"examples", split.examples},
                                  {"stored_split", split.stored_split},
                                  {"fingerprint", split.fingerprint}};
  }
  return WriteFileAtomically(JoinPath(folder, kExportFile), JsonText(json) + "\n");
}

}  // namespace

absl::StatusOr<std::vector<ExportedSplit>> ExportView(const ExportRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(request.data_dir));
  LRA_ASSIGN_OR_RETURN(const DataView view, LoadView(manifest.spec().name(), request.view.protocol,
                                                     request.view.preset, request.view.sets));
  LRA_ASSIGN_OR_RETURN(
      const Dataset data,
      Dataset::Open(request.data_dir,
                    {.splits = request.splits, .view = &view, .threads = request.threads}));
  LRA_ASSIGN_OR_RETURN(const DataView resolved, ResolveView(manifest, view));
  if (resolved.target() == DataView::MASKED && !request.without_inputs) {
    return absl::InvalidArgumentError(
        "view.target=MASKED: which tokens are hidden is drawn anew in each epoch, so no file has "
        "what a model reads; export target=NEXT, whose ids are those before any is hidden");
  }
  LRA_ASSIGN_OR_RETURN(StagingDirectory folder, StagingDirectory::Create(request.out));
  std::vector<ExportedSplit> exported;
  TaskSpec spec;
  for (const std::string& name : request.splits) {
    LRA_ASSIGN_OR_RETURN(const SplitView split, SplitView::Create(data, name, view));
    spec = split.spec();
    LRA_ASSIGN_OR_RETURN(exported.emplace_back(),
                         WriteSplit(folder.path(), manifest, split, view, request.without_inputs));
  }
  LRA_RETURN_IF_ERROR(WriteDescription(folder.path(), data, resolved, spec, exported));
  LRA_RETURN_IF_ERROR(folder.Commit());
  return exported;
}

}  // namespace lra
