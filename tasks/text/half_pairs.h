// Pairs of texts from the two ends of reviews (docs/data.md#review_halves).
#ifndef LRA_TASKS_TEXT_HALF_PAIRS_H_
#define LRA_TASKS_TEXT_HALF_PAIRS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tasks/task.h"
#include "tasks/text/halves.h"
#include "tasks/text/review_halves.pb.h"

namespace lra::text {

// The films are divided by these shares, so that no IMDB title number is in two splits. (Two films
// have two numbers; the data is pinned with them.)
inline constexpr double kValidationShare = 0.1, kTestShare = 0.1;

// 0 train, 1 validation, 2 test; depends on the film's identifier and the seed alone.
int SplitOfFilm(absl::string_view film, uint32_t seed);

// Streams pairs from the tree of aclImdb: RawExample.bytes is JoinPair's. Splits are 0 train, 1
// validation, 2 test. Examples are ordered: for each review, by split, official split, id and
// class, first its own two texts (1), then its first text and the last one of another review (0).
// Every text is in as many pairs of either label. Memory: the texts that are kept, and
// RepeatFilter's.
std::unique_ptr<RawReader> MakeHalfPairReader(std::unique_ptr<RawSource> source,
                                              const ReviewHalvesOptions& options);

// Both texts in one string. Neither has a line end (WithoutLayout).
std::string JoinPair(absl::string_view first, absl::string_view last);
// InvalidArgument unless there are exactly two texts.
absl::StatusOr<Halves> SplitPair(absl::string_view pair);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_HALF_PAIRS_H_
