// The manifest of a prepared data set: names, reading, writing, and the rules that hold whoever
// wrote it (docs/format.md).
#ifndef LRA_DATASETS_MANIFEST_H_
#define LRA_DATASETS_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"

namespace lra {

inline constexpr int kDatasetFormatVersion = 1;
inline constexpr absl::string_view kManifestFile = "manifest.textproto";

// "train-00000-of-00004.tokens.npy"
std::string ShardFileName(absl::string_view split, int64_t shard, int64_t shards,
                          absl::string_view column);

// Names of the columns that hold tokens: "tokens", and "tokens_b" for pairs; of their offsets; of
// the labels.
std::vector<std::string> TokenColumns(const TaskSpec& spec);
std::vector<std::string> OffsetColumns(const TaskSpec& spec);
inline constexpr absl::string_view kLabelColumn = "labels";

// Tokens are stored as uint8 where every id fits, else as uint16.
inline bool StoresBytes(const TaskSpec& spec) { return spec.vocabulary_size() <= 256; }

// The smallest stored value: 0 is padding among ids, a value like any other among bytes and pixels.
inline int SmallestStored(const TaskSpec& spec) { return spec.content() == TaskSpec::IDS ? 1 : 0; }

// Values of one example in an extra column.
int64_t ExtraValues(const ExtraColumn& column);

inline bool IsImage(const TaskSpec& spec) {
  return spec.content() == TaskSpec::GREY_IMAGE || spec.content() == TaskSpec::RGB_IMAGE;
}

// Everything that can be said without opening another file: version, spec, names of splits and
// files (a name never leads out of the folder), counts that agree, digests that are digests.
// DataLoss names `where` and the field.
absl::Status ValidateManifest(const Manifest& manifest, absl::string_view where);

// NotFound (with a `lra data prepare` line) when the folder holds no data set, DataLoss when the
// seal or a rule is broken.
absl::StatusOr<Manifest> ReadManifest(absl::string_view directory);
absl::Status WriteManifest(absl::string_view directory, const Manifest& manifest);

// The command that makes a task's data there, for errors.
std::string HowToMake(absl::string_view task, absl::string_view directory);

// "train", "validation" or "test".
bool IsSplitName(absl::string_view name);
// The stored split of data that only a view cuts into those three.
inline constexpr absl::string_view kAllSplit = "all";

const ManifestSplit* FindSplit(const Manifest& manifest, absl::string_view name);

// Whether every split is the one that configs/tasks/ pins for its task. False where none is pinned.
bool IsCanonical(const Manifest& manifest);

}  // namespace lra

#endif  // LRA_DATASETS_MANIFEST_H_
