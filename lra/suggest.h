// "Did you mean": finds the nearest valid name for a misspelt one.
#ifndef LRA_SUGGEST_H_
#define LRA_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra {

// Edit distance with insertions, deletions, substitutions and swaps of neighbours, each costing 1.
int EditDistance(absl::string_view a, absl::string_view b);

// The first candidate that begins with `name` (of three letters or more), or that the literature
// calls so ("softmax" is the attention transformer); else the nearest one (the first of equals), or
// "" if the nearest has a distance above max(2, a third of the length of `name`).
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

// Returns InvalidArgument: `unknown WHAT "NAME"; did you mean "X"? Known: a, b, c`.
absl::Status UnknownNameError(absl::string_view what, absl::string_view name,
                              const std::vector<std::string>& known);

}  // namespace lra

#endif  // LRA_SUGGEST_H_
