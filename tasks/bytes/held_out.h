// Which texts are test where no folder of the source says so.
#ifndef LRA_TASKS_BYTES_HELD_OUT_H_
#define LRA_TASKS_BYTES_HELD_OUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lra/sha256.h"

namespace lra::bytes {

struct Text {
  Sha256Digest digest{};  // of its bytes
  uint64_t pieces = 0;    // at least 1
};

// How many pieces of each text, counted from its beginning, train; the rest of it tests. There must
// be a text. Of the different texts, sorted by their digests, the first tenth (rounded down, but at
// least one) tests and the others train, so neither names nor places decide, and copies stay
// together. Of a single text the last tenth of its pieces tests, by the same rounding; NotFound if
// it has one piece only.
absl::StatusOr<std::vector<uint64_t>> TrainPieces(absl::Span<const Text> texts);

}  // namespace lra::bytes

#endif  // LRA_TASKS_BYTES_HELD_OUT_H_
