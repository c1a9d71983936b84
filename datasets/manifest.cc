#include "datasets/manifest.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/textproto.h"

namespace lra {
namespace {

constexpr int64_t kMaxExamples = int64_t{1} << 40;
constexpr absl::string_view kSplitNames[] = {"train", "validation", "test"};
constexpr int64_t kMaxExtraValues = 1 << 20;

bool IsHexDigest(absl::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

std::string LastPart(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// Names the field that is wrong and its value.
class Rules {
 public:
  explicit Rules(absl::string_view where) : where_(where) {}
  template <class... Words>
  void Require(bool holds, const Words&... words) {
    if (!holds && status_.ok()) {
      status_ = absl::DataLossError(absl::StrCat(where_, ": ", words...));
    }
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string where_;
  absl::Status status_;
};

void CheckContent(const TaskSpec& spec, Rules* rules) {
  const bool bytes = spec.content() != TaskSpec::IDS;
  rules->Require(TaskSpec::Content_IsValid(spec.content()), "spec.content is ", spec.content());
  rules->Require(!bytes || spec.vocabulary_size() == 256, "spec.vocabulary_size is ",
                 spec.vocabulary_size(), "; it must be 256 where bytes or pixels are stored");
  const int64_t side = spec.image_side_pixels();
  const int64_t channels = spec.content() == TaskSpec::RGB_IMAGE ? 3 : 1;
  rules->Require(IsImage(spec) ? side >= 1 && side <= kMostSidePixels : side == 0,
                 "spec.image_side_pixels is ", side, "; 1 to ", kMostSidePixels,
                 " for images, otherwise 0");
  rules->Require(!IsImage(spec) || spec.max_length_tokens() == side * side * channels,
                 "spec.max_length_tokens is ", spec.max_length_tokens(), ", not ",
                 side * side * channels, " as an image has");
  rules->Require(!spec.zero_is_token() && !spec.is_real(),
                 "spec.zero_is_token and spec.is_real belong to views, not to stored data");
}

void CheckSpec(const TaskSpec& spec, Rules* rules) {
  rules->Require(!spec.name().empty(), "spec.name is empty");
  rules->Require(spec.vocabulary_size() >= 2 && spec.vocabulary_size() <= 65536,
                 "spec.vocabulary_size is ", spec.vocabulary_size(), "; 2 to 65536 are possible");
  rules->Require(spec.max_length_tokens() >= 1, "spec.max_length_tokens is ",
                 spec.max_length_tokens(), "; it must be at least 1");
  rules->Require(spec.classes() >= 1, "spec.classes is ", spec.classes(),
                 "; it must be at least 1");
  rules->Require(spec.token_names_size() == 0 || spec.token_names_size() == spec.vocabulary_size(),
                 "spec.token_names has ", spec.token_names_size(), " names for ",
                 spec.vocabulary_size(), " ids");
  CheckContent(spec, rules);
  rules->Require(spec.close_bracket_id() >= 0 && spec.close_bracket_id() < spec.vocabulary_size(),
                 "spec.close_bracket_id is ", spec.close_bracket_id());
}

// The files that a shard needs must be there; others may be there if their names say that they are
// its columns.
void CheckFiles(const Manifest& manifest, const ManifestSplit& split, int shard, Rules* rules) {
  const std::string prefix = ShardFileName(split.name(), shard, split.shards_size(), "");
  // the name without its ending ".npy"
  const std::string stem = prefix.substr(0, prefix.size() - 4);
  std::set<std::string> names;
  for (const ManifestFile& file : split.shards(shard).files()) {
    absl::string_view column = file.name();
    const bool named = absl::ConsumePrefix(&column, stem) && absl::ConsumeSuffix(&column, ".npy") &&
                       !column.empty() &&
                       column.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
                           absl::string_view::npos;
    rules->Require(named, "file \"", file.name(), "\" of split ", split.name(), " is not named ",
                   stem, "COLUMN.npy");
    rules->Require(names.insert(file.name()).second, "file \"", file.name(), "\" occurs twice");
    rules->Require(file.size_bytes() >= 0, "file \"", file.name(), "\" has size ",
                   file.size_bytes());
    rules->Require(IsHexDigest(file.sha256()), "file \"", file.name(),
                   "\": sha256 is not 64 lower-case hexadecimal digits");
  }
  std::vector<std::string> needed = TokenColumns(manifest.spec());
  for (std::string& column : OffsetColumns(manifest.spec())) needed.push_back(std::move(column));
  needed.emplace_back(kLabelColumn);
  for (const ExtraColumn& extra : manifest.extra_columns()) needed.push_back(extra.name());
  for (const std::string& column : needed) {
    const std::string name = ShardFileName(split.name(), shard, split.shards_size(), column);
    rules->Require(names.count(name) > 0, "split ", split.name(), " lacks the file ", name);
  }
}

void CheckSplit(const Manifest& manifest, const ManifestSplit& split, Rules* rules) {
  rules->Require(IsSplitName(split.name()) || split.name() == kAllSplit, "unknown split \"",
                 split.name(), "\"; known: ", absl::StrJoin(kSplitNames, ", "), ", ", kAllSplit);
  if (!rules->status().ok()) return;
  int64_t examples = 0, labels = 0;
  for (int i = 0; i < split.shards_size(); ++i) {
    const int64_t count = split.shards(i).examples();
    rules->Require(count >= 1 && count <= kMaxExamples, "shard ", i, " of split ", split.name(),
                   " has ", count, " examples");
    if (!rules->status().ok()) return;
    examples += count;
    CheckFiles(manifest, split, i, rules);
  }
  rules->Require(split.examples() == examples, "split ", split.name(), " has ", split.examples(),
                 " examples, its shards have ", examples);
  rules->Require(split.examples() >= 1, "split ", split.name(), " has no examples");
  rules->Require(split.tokens() >= split.examples(), "split ", split.name(), " has ",
                 split.tokens(), " tokens for ", split.examples(), " examples");
  rules->Require(split.ambiguous_examples() >= 0 && split.ambiguous_examples() <= examples,
                 "split ", split.name(), " has ", split.ambiguous_examples(),
                 " ambiguous examples of ", examples);
  rules->Require(IsHexDigest(split.content_fingerprint()), "split ", split.name(),
                 ": content_fingerprint is not 64 lower-case hexadecimal digits");
  rules->Require(split.label_count_size() == manifest.spec().classes(), "split ", split.name(),
                 " has ", split.label_count_size(), " label counts for ", manifest.spec().classes(),
                 " classes; labels are 0 to classes - 1, so spec.classes is the largest label + 1");
  for (int64_t count : split.label_count()) {
    rules->Require(count >= 0 && count <= examples, "split ", split.name(), " has a label count ",
                   count);
    if (!rules->status().ok()) return;
    labels += count;
  }
  rules->Require(labels == examples, "label counts of split ", split.name(), " add up to ", labels,
                 ", not to its ", examples, " examples");
}

void CheckExtraColumns(const Manifest& manifest, Rules* rules) {
  for (const ExtraColumn& extra : manifest.extra_columns()) {
    int64_t values = extra.name().empty() ? 0 : 1;
    for (int32_t n : extra.shape()) {
      values = n >= 1 && values <= kMaxExtraValues / n ? values * n : 0;
    }
    rules->Require(values >= 1 && extra.shape_size() >= 1, "extra column \"", extra.name(),
                   "\" has no possible name or shape");
  }
}

void CheckClassNames(const Manifest& manifest, Rules* rules) {
  const int names = manifest.class_names_size();
  rules->Require(names == 0 || names == manifest.spec().classes(), "class_names has ", names,
                 " names for ", manifest.spec().classes(),
                 " classes; give one for each class, or none");
}

void CheckPart(const Manifest& manifest, Rules* rules) {
  if (!manifest.has_part()) return;
  const DataPart& part = manifest.part();
  rules->Require(part.parts() >= 1 && part.index() >= 0 && part.index() < part.parts(), "part ",
                 part.index(), " of ", part.parts(), " is impossible");
  rules->Require(manifest.origin() == "generated", "only generated data is made in parts");
}

}  // namespace

std::string ShardFileName(absl::string_view split, int64_t shard, int64_t shards,
                          absl::string_view column) {
  return absl::StrFormat("%s-%05d-of-%05d.%s.npy", split, shard, shards, column);
}

std::vector<std::string> TokenColumns(const TaskSpec& spec) {
  if (spec.is_pair()) return {"tokens", "tokens_b"};
  return {"tokens"};
}

std::vector<std::string> OffsetColumns(const TaskSpec& spec) {
  if (spec.is_pair()) return {"offsets", "offsets_b"};
  return {"offsets"};
}

int64_t ExtraValues(const ExtraColumn& column) {
  int64_t values = 1;
  for (int32_t n : column.shape()) values *= n;
  return values;
}

absl::Status ValidateManifest(const Manifest& manifest, absl::string_view where) {
  Rules rules(where);
  rules.Require(manifest.format_version() == kDatasetFormatVersion, "format_version is ",
                manifest.format_version(), "; this program reads version ", kDatasetFormatVersion);
  CheckSpec(manifest.spec(), &rules);
  rules.Require(manifest.splits_size() > 0, "it has no splits");
  rules.Require(manifest.origin() == "generated" || manifest.origin() == "imported", "origin is \"",
                manifest.origin(), "\", not \"generated\" or \"imported\"");
  CheckClassNames(manifest, &rules);
  CheckExtraColumns(manifest, &rules);
  CheckPart(manifest, &rules);
  rules.Require(manifest.splits_size() == 1 || FindSplit(manifest, kAllSplit) == nullptr,
                "split \"", kAllSplit, "\" stands beside others");
  std::set<std::string> names;
  for (const ManifestSplit& split : manifest.splits()) {
    if (!rules.status().ok()) break;
    rules.Require(names.insert(split.name()).second, "split ", split.name(), " occurs twice");
    CheckSplit(manifest, split, &rules);
  }
  return rules.status();
}

std::string HowToMake(absl::string_view task, absl::string_view directory) {
  const absl::StatusOr<TaskFile> file = LoadTaskFile(task);
  if (!file.ok()) {
    const std::string nearest = Nearest(task, ConfigNames("tasks"));
    return absl::StrCat(nearest.empty() ? "" : absl::StrCat("did you mean \"", nearest, "\"? "),
                        "lra data list says what there is and how to make it");
  }
  if (file->data_only())
    return absl::StrCat("the data of task ", task,
                        " is made by the program that wrote it, or by lra data import");
  return absl::StrCat("make one with: lra data prepare ", task,
                      file->is_imported() ? " --raw PATH" : "", " --out ", directory);
}

absl::StatusOr<Manifest> ReadManifest(absl::string_view directory) {
  const std::string path = JoinPath(directory, kManifestFile);
  if (!FileExists(path)) {
    return absl::NotFoundError(absl::StrCat("no data set in \"", directory, "\" (it has no ",
                                            kManifestFile, "); ",
                                            HowToMake(LastPart(directory), directory)));
  }
  Manifest manifest;
  absl::Status status = ReadSealedTextProto(path, &manifest);
  // A text that does not parse but has a good seal was written like that: the file is at fault, not
  // the user.
  if (absl::IsInvalidArgument(status)) status = absl::DataLossError(status.message());
  LRA_RETURN_IF_ERROR(status);
  LRA_RETURN_IF_ERROR(ValidateManifest(manifest, path));
  return manifest;
}

absl::Status WriteManifest(absl::string_view directory, const Manifest& manifest) {
  const std::string path = JoinPath(directory, kManifestFile);
  LRA_RETURN_IF_ERROR(ValidateManifest(manifest, path));
  return WriteSealedTextProto(path, manifest);
}

bool IsSplitName(absl::string_view name) {
  return std::find(std::begin(kSplitNames), std::end(kSplitNames), name) != std::end(kSplitNames);
}

const ManifestSplit* FindSplit(const Manifest& manifest, absl::string_view name) {
  for (const ManifestSplit& split : manifest.splits()) {
    if (split.name() == name) return &split;
  }
  return nullptr;
}

bool HasPinnedData(absl::string_view task) {
  const absl::StatusOr<TaskFile> file = LoadTaskFile(task);
  return file.ok() && !file->canonical_fingerprint().empty();
}

bool IsCanonical(const Manifest& manifest) {
  const absl::StatusOr<TaskFile> task = LoadTaskFile(manifest.spec().name());
  if (!task.ok() || task->canonical_fingerprint().empty() || manifest.has_part()) return false;
  for (const auto& [name, fingerprint] : task->canonical_fingerprint()) {
    const ManifestSplit* split = FindSplit(manifest, name);
    if (split == nullptr || split->content_fingerprint() != fingerprint) return false;
  }
  return manifest.splits_size() == static_cast<int>(task->canonical_fingerprint().size());
}

}  // namespace lra
