// The manifest of a prepared data set: file names, reading, writing, and the rules that hold for
// every writer (docs/format.md).
#ifndef LRA_DATASETS_MANIFEST_H_
#define LRA_DATASETS_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"
#include "lra/data_root.h"

namespace lra {

inline constexpr int kDatasetFormatVersion = 1;
// Pictures are square.
inline constexpr int64_t kMostSidePixels = 4096;

// Returns e.g. "train-00000-of-00004.tokens.npy".
std::string ShardFileName(absl::string_view split, int64_t shard, int64_t shards,
                          absl::string_view column);

// Names of the columns: TokenColumns gives "tokens", and "tokens_b" for pairs; the others belong to
// their offsets and to the labels.
std::vector<std::string> TokenColumns(const TaskSpec& spec);
std::vector<std::string> OffsetColumns(const TaskSpec& spec);
inline constexpr absl::string_view kLabelColumn = "labels";

// Tokens are stored as uint8 where every id fits, else as uint16.
inline bool StoresBytes(const TaskSpec& spec) { return spec.vocabulary_size() <= 256; }

// The smallest value that may be stored: 0 is padding among ids, but a value like any other among
// bytes and pixels.
inline int SmallestStored(const TaskSpec& spec) { return spec.content() == TaskSpec::IDS ? 1 : 0; }

// How many values of an extra column belong to one example.
int64_t ExtraValues(const ExtraColumn& column);

// An extra column of one value: how many tokens are given, not guessed, where tokens are guessed.
inline constexpr absl::string_view kPromptColumn = "prompt_tokens";
// Where its value stands among those of all extra columns of an example; -1 = nowhere.
template <class Columns>
int64_t PromptPlace(const Columns& extra_columns) {
  int64_t place = 0;
  for (const ExtraColumn& column : extra_columns) {
    if (column.name() == kPromptColumn) return place;
    place += ExtraValues(column);
  }
  return -1;
}

inline bool IsImage(const TaskSpec& spec) {
  return spec.content() == TaskSpec::GREY_IMAGE || spec.content() == TaskSpec::RGB_IMAGE;
}

// Checks everything that needs no other file: version, spec, names of splits and files (no name may
// lead out of the folder), counts that must agree, the form of digests. DataLoss names `where` and
// the field.
absl::Status ValidateManifest(const Manifest& manifest, absl::string_view where);

// NotFound (with the `lra data prepare` command) if the folder holds no data set; DataLoss if the
// seal or a rule is broken.
absl::StatusOr<Manifest> ReadManifest(absl::string_view directory);
absl::Status WriteManifest(absl::string_view directory, const Manifest& manifest);

// The command that makes the data of a task in that folder, for error messages.
std::string HowToMake(absl::string_view task, absl::string_view directory);

// Whether `name` is "train", "validation" or "test".
bool IsSplitName(absl::string_view name);
// The only stored split of data that views cut into those three.
inline constexpr absl::string_view kAllSplit = "all";

const ManifestSplit* FindSplit(const Manifest& manifest, absl::string_view name);

// Whether configs/tasks/ pins the data of the task; false where it does not know the task.
bool HasPinnedData(absl::string_view task);
// Whether every split equals the one that configs/tasks/ pins for its task; false if none is
// pinned.
bool IsCanonical(const Manifest& manifest);

}  // namespace lra

#endif  // LRA_DATASETS_MANIFEST_H_
