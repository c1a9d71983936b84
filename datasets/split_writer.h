// Writes the shards of one split. The columns of a shard are gathered in memory and written when
// the shard is full, so memory is bounded by about kShardTokens tokens (50 MB) for each split.
#ifndef LRA_DATASETS_SPLIT_WRITER_H_
#define LRA_DATASETS_SPLIT_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/example.h"
#include "datasets/manifest.pb.h"
#include "lra/sha256.h"
#include "lra/task_spec.pb.h"

namespace lra {

// A shard ends with the example that brings it to this many tokens.
inline constexpr int64_t kShardTokens = 25'000'000;

// Not thread-safe.
class SplitWriter {
 public:
  // `directory` exists (that of a StagingDirectory). `head` holds the spec and extra columns of
  // what is written.
  SplitWriter(absl::string_view directory, absl::string_view split, const Manifest& head,
              int64_t shard_tokens = kShardTokens);

  // `example` satisfies CheckExample and has its values of the extra columns; `digest` belongs to
  // it.
  absl::Status Add(const EncodedExample& example, const Sha256Digest& digest);
  // Writes the last shard and gives the files their final names. FailedPrecondition if the split is
  // empty.
  absl::StatusOr<ManifestSplit> Finish();

  int64_t examples() const { return split_.examples(); }

 private:
  struct Column {
    std::vector<uint8_t> bytes;   // ids, if they are stored as bytes
    std::vector<uint16_t> words;  // ids, if they are stored as 16-bit words
    std::vector<int64_t> offsets{0};
  };
  void Append(const std::vector<uint16_t>& tokens, Column* column);
  absl::Status CloseShard();
  absl::Status WriteColumn(absl::string_view name, absl::string_view header,
                           absl::string_view values, ManifestShard* shard);
  absl::Status WriteTokens(const Column& column, int index, ManifestShard* shard);
  absl::Status WriteExtras(ManifestShard* shard);

  const std::string directory_;
  const TaskSpec spec_;
  const std::vector<ExtraColumn> extra_columns_;
  const int64_t shard_tokens_limit_;
  ManifestSplit split_;
  std::vector<Column> columns_;
  std::vector<int32_t> labels_;
  std::vector<std::vector<int16_t>> extras_;  // one vector for each extra column
  int64_t shard_tokens_ = 0;
  Sha256 fingerprint_;
};

}  // namespace lra

#endif  // LRA_DATASETS_SPLIT_WRITER_H_
