// An encoded example, and the digests that identify examples and splits (docs/format.md).
#ifndef LRA_DATASETS_EXAMPLE_H_
#define LRA_DATASETS_EXAMPLE_H_

#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lra/sha256.h"
#include "lra/task_spec.pb.h"

namespace lra {

// An example as it is stored.
struct EncodedExample {
  std::vector<uint16_t> tokens;    // ids 1 .. V-1, or bytes, or pixels (TaskSpec.content)
  std::vector<uint16_t> tokens_b;  // the second text of a pair; empty otherwise
  int32_t label = 0;
  // The example's values of the manifest's extra columns, one column after the other; empty without
  // such columns.
  std::vector<int16_t> extra;
  // True if the input does not decide the label.
  bool is_ambiguous = false;
};

// An example as it is read from disk.
struct StoredExample {
  absl::Span<const uint16_t> tokens, tokens_b;
  absl::Span<const int16_t> extra;
};

// InvalidArgument (with position and value) unless lengths, ids and label are within the spec.
absl::Status CheckExample(const TaskSpec& spec, const EncodedExample& example);

struct ExampleDigest {
  // Digest of the tokens. Examples with equal digests are duplicates, whatever their labels.
  Sha256Digest input;
  // Digest of tokens, label and number of given tokens; content fingerprints are made of these.
  Sha256Digest example;
  // Digest of each text of a pair; unset otherwise.
  Sha256Digest documents[2] = {};
  int32_t label = 0;
};

// Reuses its hashing state between examples. Not thread-safe.
class ExampleHasher {
 public:
  // `prompt_place` says where among the extra values the number of given tokens stands
  // (PromptPlace of datasets/manifest.h); -1 = there is none, or only inputs matter.
  explicit ExampleHasher(int64_t prompt_place = -1) : prompt_place_(prompt_place) {}
  // `columns` holds the example's row of each token column: one, or two for pairs.
  ExampleDigest Hash(absl::Span<const absl::Span<const uint16_t>> columns, int32_t label,
                     absl::Span<const int16_t> extra);
  ExampleDigest Hash(const TaskSpec& spec, const EncodedExample& example);

 private:
  int64_t prompt_place_;
  Sha256 hash_;
};

// The first 128 bits of an input digest: enough to tell inputs apart, and small enough to keep for
// every example.
using InputKey = absl::uint128;
InputKey ToInputKey(const Sha256Digest& input);

}  // namespace lra

#endif  // LRA_DATASETS_EXAMPLE_H_
