// A leaderboard as LaTeX for a paper: booktabs, numbers aligned at the decimal point, the best in
// bold, intervals and letters in small print, sources and marks explained below. It fits the column
// or, with more than three columns of numbers, the page; docs/results_format.md.
#ifndef LRA_EVAL_TABLE_PAPER_H_
#define LRA_EVAL_TABLE_PAPER_H_

#include <string>

#include "eval/leaderboard.h"

namespace lra {

// What the other formats say and this one does not (how rows were obtained, what was left out)
// stands in comments. The same leaderboard always gives the same bytes.
std::string WritePaperTables(const Leaderboard& board);

}  // namespace lra

#endif  // LRA_EVAL_TABLE_PAPER_H_
