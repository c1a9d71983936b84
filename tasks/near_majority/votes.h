// What an example of near_majority says: votes, marks, and which votes count.
#ifndef LRA_TASKS_NEAR_MAJORITY_VOTES_H_
#define LRA_TASKS_NEAR_MAJORITY_VOTES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace lra::near_majority {

inline constexpr uint16_t kAgainst = 1, kFor = 2, kMark = 3;
inline constexpr int kVocabularySize = 4;

// Votes for less votes against, of all tokens.
int64_t TotalMargin(absl::Span<const int32_t> ids);
// The same of those at most `distance` tokens from a mark.
int64_t NearMargin(absl::Span<const int32_t> ids, int64_t distance);

}  // namespace lra::near_majority

#endif  // LRA_TASKS_NEAR_MAJORITY_VOTES_H_
