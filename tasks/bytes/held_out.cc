#include "tasks/bytes/held_out.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace lra::bytes {
namespace {

uint64_t Tenth(uint64_t count) { return std::max<uint64_t>(1, count / 10); }

}  // namespace

absl::StatusOr<std::vector<uint64_t>> TrainPieces(absl::Span<const Text> texts) {
  std::set<Sha256Digest> different;
  for (const Text& text : texts) different.insert(text.digest);
  std::vector<uint64_t> train;
  if (different.size() == 1) {
    const uint64_t pieces = texts.front().pieces;  // copies have as many
    if (pieces < 2) {
      return absl::NotFoundError(
          "the only text is one piece, which cannot be split; two texts are needed, or a text of "
          "at least two pieces (option piece_bytes)");
    }
    train.assign(texts.size(), pieces - Tenth(pieces));
    return train;
  }
  const auto first = std::next(different.begin(), static_cast<int64_t>(Tenth(different.size())));
  for (const Text& text : texts) train.push_back(text.digest < *first ? 0 : text.pieces);
  return train;
}

}  // namespace lra::bytes
