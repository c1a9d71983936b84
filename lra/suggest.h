// "Did you mean": the nearest valid name for a misspelt one.
#ifndef LRA_SUGGEST_H_
#define LRA_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra {

// Edit distance with insertions, deletions, substitutions and swaps of neighbours, each costing 1.
int EditDistance(absl::string_view a, absl::string_view b);

// The candidate nearest to `name`, or "" when none is near enough to be meant (distance above
// max(2, a third of the name's length)). Ties: the first candidate.
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

// InvalidArgument: `unknown WHAT "NAME"; did you mean "X"? Known: a, b, c`.
absl::Status UnknownNameError(absl::string_view what, absl::string_view name,
                              const std::vector<std::string>& known);

}  // namespace lra

#endif  // LRA_SUGGEST_H_
