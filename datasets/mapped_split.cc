#include "datasets/mapped_split.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "datasets/mapped_file.h"
#include "lra/files.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"

namespace lra::internal {
namespace {

absl::Status Damaged(absl::string_view path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(path, ": ", what));
}

// Finds which files of the manifest belong to one shard.
class ShardFiles {
 public:
  ShardFiles(absl::string_view directory, const ManifestSplit& split, int shard, bool check_hashes)
      : directory_(directory), split_(split), shard_(shard), check_hashes_(check_hashes) {}

  std::string Path(absl::string_view column) const { return JoinPath(directory_, Name(column)); }

  absl::StatusOr<MappedNpy> Open(absl::string_view column, NpyType type,
                                 size_t dimensions = 1) const {
    const std::string path = Path(column);
    LRA_ASSIGN_OR_RETURN(MappedFile checked, OpenChecked(Name(column), path));
    LRA_ASSIGN_OR_RETURN(MappedNpy file, MappedNpy::FromFile(std::move(checked), path));
    if (file.header().type != type || file.header().shape.size() != dimensions) {
      return Damaged(path, absl::StrCat("holds ", NpyDescr(file.header().type), " in ",
                                        file.header().shape.size(), " dimensions, not ",
                                        NpyDescr(type), " in ", dimensions));
    }
    return file;
  }

  absl::StatusOr<MappedNpy> OpenExtra(const ExtraColumn& extra, int64_t examples) const {
    std::vector<int64_t> shape = {examples};
    for (int32_t n : extra.shape()) shape.push_back(n);
    LRA_ASSIGN_OR_RETURN(MappedNpy file, Open(extra.name(), NpyType::kInt16, shape.size()));
    if (file.header().shape == shape) return file;
    return Damaged(Path(extra.name()),
                   absl::StrCat("has shape ", absl::StrJoin(file.header().shape, " x "), ", not ",
                                absl::StrJoin(shape, " x ")));
  }

  // Checks the columns that this program does not read: they must still be what the manifest says.
  absl::Status CheckOthers(const std::vector<std::string>& read) const {
    for (const ManifestFile& file : split_.shards(shard_).files()) {
      if (std::find(read.begin(), read.end(), file.name()) != read.end()) continue;
      LRA_RETURN_IF_ERROR(OpenChecked(file.name(), JoinPath(directory_, file.name())).status());
    }
    return absl::OkStatus();
  }

  std::string Name(absl::string_view column) const {
    return ShardFileName(split_.name(), shard_, split_.shards_size(), column);
  }

 private:
  // What is read is what was checked: a file that is put in its place meanwhile is not opened.
  absl::StatusOr<MappedFile> OpenChecked(absl::string_view name, absl::string_view path) const {
    const auto& files = split_.shards(shard_).files();
    const auto entry = std::find_if(files.begin(), files.end(),
                                    [&](const ManifestFile& file) { return file.name() == name; });
    LRA_CHECK(entry != files.end()) << name;  // ValidateManifest has checked that it exists
    absl::StatusOr<MappedFile> file = MappedFile::Open(path);
    if (absl::IsNotFound(file.status())) return Damaged(path, "the file is missing");
    LRA_RETURN_IF_ERROR(file.status());
    if (static_cast<int64_t>(file->bytes().size()) != entry->size_bytes()) {
      return Damaged(path, absl::StrCat("has ", file->bytes().size(), " bytes, the manifest says ",
                                        entry->size_bytes()));
    }
    if (!check_hashes_) return file;
    const std::string sha256 = Sha256Hex(file->bytes());
    if (sha256 == entry->sha256()) return file;
    return Damaged(path, absl::StrCat("was changed: its sha256 is ", sha256, ", the manifest says ",
                                      entry->sha256()));
  }

  const absl::string_view directory_;
  const ManifestSplit& split_;
  const int shard_;
  const bool check_hashes_;
};

absl::Status CheckOffsets(const MappedNpy& offsets, int64_t examples, int64_t tokens,
                          const TaskSpec& spec, absl::string_view path) {
  const int32_t max_length = spec.max_length_tokens();
  const int32_t min_length = IsImage(spec) ? max_length : 1;
  const absl::Span<const int64_t> values = offsets.values<int64_t>();
  if (static_cast<int64_t>(values.size()) != examples + 1) {
    return Damaged(path, absl::StrCat("has ", values.size(), " offsets for ", examples,
                                      " examples, not one more"));
  }
  if (values.front() != 0 || values.back() != tokens) {
    return Damaged(path, absl::StrCat("runs from ", values.front(), " to ", values.back(),
                                      ", not from 0 to the ", tokens, " tokens"));
  }
  for (int64_t i = 0; i < examples; ++i) {
    // The values are compared one by one, because the difference of two hostile offsets may
    // overflow.
    const bool fits = values[i] >= 0 && values[i + 1] <= tokens && values[i] < values[i + 1] &&
                      values[i + 1] - values[i] >= min_length &&
                      values[i + 1] - values[i] <= max_length;
    if (!fits) {
      return Damaged(path, absl::StrCat("example ", i, " has tokens ", values[i], " to ",
                                        values[i + 1], "; a length of ", min_length, " to ",
                                        max_length, " is allowed, by spec.max_length_tokens"));
    }
  }
  return absl::OkStatus();
}

// Whether every value is in [low, high]. The first pass vectorises; only a bad column is searched
// again for the position.
template <class T>
absl::Status CheckValues(const MappedNpy& column, int64_t low, int64_t high, absl::string_view what,
                         absl::string_view path) {
  const absl::Span<const T> values = column.values<T>();
  T smallest = static_cast<T>(low), largest = static_cast<T>(low);
  for (T value : values) {
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
  }
  if (smallest >= low && largest <= high) return absl::OkStatus();
  size_t i = 0;
  while (values[i] >= low && values[i] <= high) ++i;
  return Damaged(
      path, absl::StrCat(what, " ", i, " is ", values[i], "; ", low, " to ", high, " are allowed"));
}

absl::StatusOr<MappedColumn> OpenColumn(const ShardFiles& files, const TaskSpec& spec, int index,
                                        int64_t examples) {
  const std::string tokens = TokenColumns(spec)[index], offsets = OffsetColumns(spec)[index];
  MappedColumn column;
  LRA_ASSIGN_OR_RETURN(column.tokens,
                       files.Open(tokens, StoresBytes(spec) ? NpyType::kUint8 : NpyType::kUint16));
  LRA_ASSIGN_OR_RETURN(column.offsets, files.Open(offsets, NpyType::kInt64));
  LRA_RETURN_IF_ERROR(CheckOffsets(column.offsets, examples, column.tokens.header().values, spec,
                                   files.Path(offsets)));
  const int64_t first = SmallestStored(spec), last = spec.vocabulary_size() - 1;
  LRA_RETURN_IF_ERROR(
      StoresBytes(spec)
          ? CheckValues<uint8_t>(column.tokens, first, last, "token", files.Path(tokens))
          : CheckValues<uint16_t>(column.tokens, first, last, "token", files.Path(tokens)));
  return column;
}

// One value an example: no more tokens are given than there are.
absl::Status CheckPrompts(const MappedNpy& prompts, const MappedNpy& offsets, int64_t examples,
                          absl::string_view path) {
  if (prompts.header().values != examples) {
    return Damaged(path, absl::StrCat("has ", prompts.header().values, " values for ", examples,
                                      " examples; one each is allowed"));
  }
  const absl::Span<const int16_t> given = prompts.values<int16_t>();
  const absl::Span<const int64_t> places = offsets.values<int64_t>();
  for (int64_t i = 0; i < examples; ++i) {
    const int64_t tokens = places[i + 1] - places[i];
    if (given[i] >= 0 && given[i] <= tokens) continue;
    return Damaged(path, absl::StrCat("example ", i, " has the value ", given[i], "; 0 to its ",
                                      tokens, " tokens are allowed"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MappedShard> OpenShard(absl::string_view directory, const Manifest& manifest,
                                      const ManifestSplit& split, int shard, bool check_hashes) {
  const TaskSpec& spec = manifest.spec();
  const ShardFiles files(directory, split, shard, check_hashes);
  MappedShard opened;
  opened.examples = split.shards(shard).examples();
  std::vector<std::string> read = {files.Name(kLabelColumn)};
  for (size_t i = 0; i < TokenColumns(spec).size(); ++i) {
    LRA_ASSIGN_OR_RETURN(MappedColumn column,
                         OpenColumn(files, spec, static_cast<int>(i), opened.examples));
    opened.columns.push_back(std::move(column));
    read.push_back(files.Name(TokenColumns(spec)[i]));
    read.push_back(files.Name(OffsetColumns(spec)[i]));
  }
  LRA_ASSIGN_OR_RETURN(opened.labels, files.Open(kLabelColumn, NpyType::kInt32));
  const std::string labels = files.Path(kLabelColumn);
  if (opened.labels.header().values != opened.examples) {
    return Damaged(labels, absl::StrCat("has ", opened.labels.header().values, " labels for ",
                                        opened.examples, " examples"));
  }
  LRA_RETURN_IF_ERROR(CheckValues<int32_t>(opened.labels, 0, spec.classes() - 1, "label", labels));
  for (const ExtraColumn& extra : manifest.extra_columns()) {
    LRA_ASSIGN_OR_RETURN(MappedNpy file, files.OpenExtra(extra, opened.examples));
    if (extra.name() == kPromptColumn) {
      LRA_RETURN_IF_ERROR(
          CheckPrompts(file, opened.columns[0].offsets, opened.examples, files.Path(extra.name())));
    }
    opened.extras.push_back(std::move(file));
    read.push_back(files.Name(extra.name()));
  }
  LRA_RETURN_IF_ERROR(files.CheckOthers(read));
  return opened;
}

const MappedShard& MappedSplit::ShardOf(int64_t example) const {
  LRA_CHECK(example >= 0 && example < examples) << example;
  auto after =
      std::upper_bound(shards.begin(), shards.end(), example,
                       [](int64_t index, const MappedShard& shard) { return index < shard.first; });
  return *(after - 1);
}

int32_t MappedSplit::label(int64_t example) const {
  const MappedShard& shard = ShardOf(example);
  return shard.labels.values<int32_t>()[example - shard.first];
}

int64_t MappedSplit::length_tokens(int64_t example, int column) const {
  const MappedShard& shard = ShardOf(example);
  const int64_t* offset =
      shard.columns[column].offsets.values<int64_t>().data() + (example - shard.first);
  return offset[1] - offset[0];
}

absl::Span<const uint16_t> MappedSplit::Tokens(int64_t example, std::vector<uint16_t>* scratch,
                                               int column) const {
  const MappedShard& shard = ShardOf(example);
  const MappedColumn& stored = shard.columns[column];
  const int64_t* offset = stored.offsets.values<int64_t>().data() + (example - shard.first);
  const size_t length = static_cast<size_t>(offset[1] - offset[0]);
  if (stored.tokens.header().type == NpyType::kUint16) {
    return stored.tokens.values<uint16_t>().subspan(offset[0], length);
  }
  const uint8_t* bytes = stored.tokens.values<uint8_t>().data() + offset[0];
  scratch->assign(bytes, bytes + length);
  return *scratch;
}

absl::Span<const uint8_t> MappedSplit::Bytes(int64_t example, int column) const {
  const MappedShard& shard = ShardOf(example);
  const MappedColumn& stored = shard.columns[column];
  const int64_t* offset = stored.offsets.values<int64_t>().data() + (example - shard.first);
  return stored.tokens.values<uint8_t>().subspan(offset[0], offset[1] - offset[0]);
}

std::vector<int16_t> MappedSplit::Extra(int64_t example) const {
  const MappedShard& shard = ShardOf(example);
  std::vector<int16_t> row;
  for (const MappedNpy& extra : shard.extras) {
    const int64_t values = extra.header().values / shard.examples;
    const auto stored = extra.values<int16_t>().subspan((example - shard.first) * values, values);
    row.insert(row.end(), stored.begin(), stored.end());
  }
  return row;
}

EncodedExample MappedSplit::Read(int64_t example) const {
  std::vector<uint16_t> scratch;
  EncodedExample read;
  for (size_t column = 0; column < ShardOf(example).columns.size(); ++column) {
    const absl::Span<const uint16_t> tokens = Tokens(example, &scratch, static_cast<int>(column));
    (column == 0 ? read.tokens : read.tokens_b).assign(tokens.begin(), tokens.end());
  }
  read.label = label(example);
  read.extra = Extra(example);
  return read;
}

}  // namespace lra::internal
