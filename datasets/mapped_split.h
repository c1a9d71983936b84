// The columns of one split, mapped into memory. Dataset opens them; verification and views read the
// stored tokens here.
#ifndef LRA_DATASETS_MAPPED_SPLIT_H_
#define LRA_DATASETS_MAPPED_SPLIT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/example.h"
#include "datasets/manifest.pb.h"
#include "datasets/npy.h"
#include "lra/task_spec.pb.h"

namespace lra::internal {

struct MappedColumn {
  MappedNpy tokens;   // uint8 or uint16, [all tokens of the shard]
  MappedNpy offsets;  // int64, [examples + 1]
};

struct MappedShard {
  int64_t first = 0;  // index in the split of the shard's first example
  int64_t examples = 0;
  std::vector<MappedColumn> columns;  // 1, or 2 for pairs
  MappedNpy labels;                   // int32, [examples]
  std::vector<MappedNpy> extras;      // int16, [examples, ...], in the manifest's order
};

// Safe for concurrent reading. Example indices are those of the split.
struct MappedSplit {
  std::string name;
  int64_t examples = 0;
  std::vector<MappedShard> shards;

  int32_t label(int64_t example) const;
  int64_t length_tokens(int64_t example, int column = 0) const;
  // The stored ids; where they are stored as bytes, they are copied into *scratch.
  absl::Span<const uint16_t> Tokens(int64_t example, std::vector<uint16_t>* scratch,
                                    int column = 0) const;
  // The stored bytes. Only for data whose ids are stored as bytes.
  absl::Span<const uint8_t> Bytes(int64_t example, int column = 0) const;
  // The example's row of every extra column, one column after the other.
  std::vector<int16_t> Extra(int64_t example) const;
  // A copy of the whole example except is_ambiguous, which is not stored.
  EncodedExample Read(int64_t example) const;
  const MappedShard& ShardOf(int64_t example) const;
};

// Opens the columns of one shard and checks its files against the manifest (size, and SHA-256 if
// asked), their types, and every value: offsets start at 0, rise by 1 to max_length (for images by
// exactly that) and end at the number of tokens, ids are in 1 .. V-1, labels in 0 .. C-1, and no
// example has fewer tokens than are given (kPromptColumn). DataLoss names the file.
absl::StatusOr<MappedShard> OpenShard(absl::string_view directory, const Manifest& manifest,
                                      const ManifestSplit& split, int shard, bool check_hashes);

}  // namespace lra::internal

#endif  // LRA_DATASETS_MAPPED_SPLIT_H_
