#include "tasks/data_only.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/classes.h"
#include "datasets/data_directory.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "tasks/linear_baseline.h"
#include "tasks/raw_files.h"

namespace lra {
namespace {

constexpr int64_t kMostReadSidePixels = 1 << 10;
static_assert(kMostReadSidePixels * kMostReadSidePixels == kMostReadTokens);

constexpr char kHead[] = R"(# proto-file: lra/config.proto
# proto-message: lra.TaskFile
#
# Rules of a data-only task, to be edited: `view` says how its examples are seen, the rest what protocols and presets
# leave open for a task. Another protocol gets rules by another `protocol`, sizes of a preset by `preset`.
# Runs record what they were trained with; those before and after an edit never share a column.
)";

class DataOnlyTask : public Task {
 public:
  explicit DataOnlyTask(const Manifest& manifest) : spec_(manifest.spec()) {
    for (const ManifestSplit& split : manifest.splits()) splits_.push_back({split.name(), 0});
  }
  TaskSpec Spec() const override { return spec_; }
  std::vector<SplitSize> Splits() const override { return splits_; }
  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    if (spec_.content() != TaskSpec::TEXT || spec_.is_pair()) return Task::Encode(raw);
    return ExampleOfBytes(raw);
  }
  std::string ToText(const StoredExample& example) const override {
    return TextBySpec(spec_, example);
  }
  // What would be a shortcut among ids, nobody but their author knows.
  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView&) const override {
    if (IsImage(spec_)) return PixelBaselines();
    if (spec_.content() == TaskSpec::TEXT) return TextBaselines(spec_.is_pair());
    return {};
  }

 private:
  const TaskSpec spec_;
  std::vector<SplitSize> splits_;
};

std::string TokensText(const TaskSpec& spec, absl::Span<const uint16_t> tokens) {
  if (spec.content() == TaskSpec::TEXT) return BytesText(tokens);
  return absl::StrJoin(tokens, " ", [&spec](std::string* out, uint16_t id) {
    absl::StrAppend(out, id < spec.token_names_size() ? spec.token_names(id) : absl::StrCat(id));
  });
}

}  // namespace

std::unique_ptr<Task> MakeDataOnlyTask(const Manifest& manifest) {
  return std::make_unique<DataOnlyTask>(manifest);
}

std::string TextBySpec(const TaskSpec& spec, const StoredExample& example) {
  const std::string text = TokensText(spec, example.tokens);
  return spec.is_pair() ? absl::StrCat(text, " | ", TokensText(spec, example.tokens_b)) : text;
}

absl::Status CheckDataOnlyVersion(absl::string_view data_dir, const TaskSpec& held) {
  const absl::StatusOr<TaskFile> file = LoadTaskFile(held.name());
  if (!file.ok() || file->version() == held.version()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(data_dir, ": spec.version of task \"", held.name(), "\" is ", held.version(),
                   ", ", DataOnlyTaskPath(held.name()), " has rules for ", file->version()));
}

absl::StatusOr<DataView> GenericView(const Manifest& manifest) {
  const TaskSpec& spec = manifest.spec();
  const auto has = [&](absl::string_view name) { return FindSplit(manifest, name) != nullptr; };
  if (!has(kAllSplit) && !(has("train") && has("test"))) {
    return absl::InvalidArgumentError(
        "training needs the splits train and test (and, best, validation), or one split all");
  }
  DataView view;
  view.set_split(has(kAllSplit)      ? DataView::SEED42
                 : has("validation") ? DataView::OFFICIAL
                                     : DataView::HOLDOUT);
  if (IsImage(spec)) {
    const int64_t side = spec.image_side_pixels();
    if (side * side > kMostReadTokens) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pictures of ", side, " x ", side, " pixels are longer than the ", kMostReadTokens,
          " that models read; a side of ", kMostReadSidePixels, " pixels is the most"));
    }
    view.set_max_length_tokens(static_cast<int32_t>(side * side));
    view.set_pixels(DataView::IDS_PLUS_ONE);
    if (spec.content() == TaskSpec::RGB_IMAGE) view.set_grey(DataView::TENSORFLOW);
    return view;
  }
  view.set_max_length_tokens(
      static_cast<int32_t>(std::min<int64_t>(spec.max_length_tokens(), kMostReadTokens)));
  view.set_end_mark(false);
  view.set_pad_to(DataView::LONGEST);
  if (spec.close_bracket_id() != 0) view.set_brackets(DataView::CLOSE_ONLY);
  if (spec.content() == TaskSpec::TEXT) {
    view.set_unit(DataView::BYTE);
    if (spec.is_pair()) view.set_literals(DataView::RAW);
  }
  return view;
}

absl::Status CheckDataOnlyName(const std::string& name) {
  const bool is_good = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
  });
  if (!is_good) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the task's name is \"", name, "\"; lower-case letters, digits and _ make a name"));
  }
  if (!TaskRegistry::Get().Has(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "task \"", name, "\" has code and rules; data of another task needs another name"));
}

absl::Status CheckDataOnlyFolder(const std::string& directory, const std::string& task) {
  const std::string usual = DefaultDataDirectory(task);
  std::error_code error;
  if (std::filesystem::equivalent(directory, usual, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(directory, " holds task \"", task, "\"; move or link it to ", usual,
                   ", where a task's data and rules are found by its name"));
}

absl::StatusOr<TaskFile> GenericRules(const Manifest& manifest) {
  const TaskSpec& spec = manifest.spec();
  const std::string content = IsImage(spec)                      ? "image"
                              : spec.content() == TaskSpec::TEXT ? "text"
                                                                 : "ids";
  LRA_ASSIGN_OR_RETURN(const std::string path, ConfigPath("data_only", "content", content));
  TaskFile file;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &file));
  LRA_ASSIGN_OR_RETURN(*(*file.mutable_protocol())["fair"].mutable_view(), GenericView(manifest));
  file.set_name(spec.name());
  file.set_version(spec.version());
  file.set_data_only(true);
  file.set_description(absl::StrCat("Data of another program: ", spec.classes(), " classes"));
  LRA_RETURN_IF_ERROR(CheckRanges(file));
  return file;
}

std::string DataOnlyRulesText(const TaskFile& rules) {
  return absl::StrCat(kHead, ToTextProto(rules));
}

absl::StatusOr<AdoptedData> AdoptData(const std::string& directory, const VerifyOptions& options) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(directory));
  const std::string& task = manifest.spec().name();
  LRA_RETURN_IF_ERROR(Annotate(CheckDataOnlyName(task), directory));
  if (manifest.has_part())
    return absl::InvalidArgumentError(absl::StrCat(directory, " holds a part of a data set"));
  LRA_RETURN_IF_ERROR(CheckDataOnlyFolder(directory, task));
  LRA_RETURN_IF_ERROR(Annotate(CheckClasses(manifest), directory));
  const std::string path = DataOnlyTaskPath(task);
  if (FileExists(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, ": exists already; delete it to have it written anew"));
  }
  LRA_ASSIGN_OR_RETURN(const TaskFile rules, GenericRules(manifest));
  LRA_ASSIGN_OR_RETURN(VerifyReport report, VerifyDataset(directory, options));
  if (!report.ok()) {
    return absl::DataLossError(absl::StrCat(directory, ": ", absl::StrJoin(report.problems, "; ")));
  }
  LRA_RETURN_IF_ERROR(WriteFileAtomically(path, DataOnlyRulesText(rules)));
  return AdoptedData{path, std::move(report)};
}

}  // namespace lra
