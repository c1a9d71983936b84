// Whose last text stands beside whose first one in the negative pairs.
#ifndef LRA_TASKS_TEXT_MATCHING_H_
#define LRA_TASKS_TEXT_MATCHING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lra/random.h"

namespace lra::text {

struct Matchable {
  int64_t group = 0;  // partners are of one group,
  int64_t kind = 0;   // and of two kinds
};

// For each item its partner, or -1. Those with one are permuted among each other at random, so each
// of them is the partner of exactly one. Where more than half of a group are of one kind, no
// permutation is possible: as few as can be of that kind, drawn at random, get none.
std::vector<int64_t> Match(absl::Span<const Matchable> items, RandomStream random);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_MATCHING_H_
