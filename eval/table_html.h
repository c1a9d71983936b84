// A leaderboard as HTML: tables that browsers, screen readers and scripts can read. Every text that
// comes from a record is escaped.
#ifndef LRA_EVAL_TABLE_HTML_H_
#define LRA_EVAL_TABLE_HTML_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "eval/leaderboard.h"

namespace lra {

// Text for elements and for attributes in double quotes.
std::string EscapeHtml(absl::string_view text);

// A list with an item for each sentence; empty without any.
std::string HtmlList(const std::vector<std::string>& sentences);

// The tables of a page, a section each ("table-1", ...). Cells carry their numbers as data-value,
// data-low, data-high (unscaled) and data-cost (core-hours of a run), and data-runs: the numbers,
// by folder, of the runs behind them. Neither the legend nor what was left out is part of it.
std::string HtmlTables(const Leaderboard& board, const std::map<std::string, int>& run_numbers);

// A whole page that needs no other file: tables, legend, what was left out.
std::string HtmlLeaderboard(const Leaderboard& board);

}  // namespace lra

#endif  // LRA_EVAL_TABLE_HTML_H_
