// Many comparisons at once: corrected p-values, and letters that say which rows of a column could
// not be told apart.
#ifndef LRA_EVAL_MULTIPLE_H_
#define LRA_EVAL_MULTIPLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace lra {

// Holm's step-down correction of a family of p-values, in their order: whatever is at most alpha
// afterwards is rejected, and some true hypothesis among them with probability alpha at most
// (Holm, Scandinavian J. of Statistics 6:65, 1979).
std::vector<double> HolmP(absl::Span<const double> p);

// The confidence at which one test of a family is told apart under Holm whatever the others say:
// 1 - alpha / tests. tests >= 1.
inline double OneOfTests(double confidence, size_t tests) {
  return 1 - (1 - confidence) / static_cast<double>(tests);
}

// The largest sets of rows without a differing pair, by insert and absorb (Piepho, JCGS 13:456,
// 2004). Rows are 0 .. count - 1, the best first; the result has, for each row, the numbers of its
// groups in ascending order, and groups are numbered by their best members. The order of
// `differing` does not matter. Empty where more than kMostLetterGroups come up on the way: there
// can be exponentially many, and nobody could read their letters.
inline constexpr size_t kMostLetterGroups = 200;
std::vector<std::vector<int>> LetterGroups(int count,
                                           const std::vector<std::pair<int, int>>& differing);

inline constexpr int kAlphabet = 26;
// Writes groups as letters: {0, 1} is "ab". With `group_count` above kAlphabet, those behind the
// alphabet are letters with a number, and commas stand between: {0, 27} is "a,b2".
std::string LetterText(const std::vector<int>& groups, int group_count);

}  // namespace lra

#endif  // LRA_EVAL_MULTIPLE_H_
