// Writes a leaderboard as text. Markdown is padded so that it can be read in a terminal; CSV has
// one line for each cell; LaTeX is a booktabs table for \input with its notes behind it; JSON holds
// everything; HTML is one page that needs no other file.
#ifndef LRA_EVAL_TABLE_WRITER_H_
#define LRA_EVAL_TABLE_WRITER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/leaderboard.h"

namespace lra {

enum class TableFormat { kMarkdown, kCsv, kLatex, kJson, kHtml };

// Parses "md", "csv", "tex", "json" or "html"; InvalidArgument with the known names otherwise.
absl::StatusOr<TableFormat> ParseTableFormat(absl::string_view name);
// The format that belongs to the path's extension.
absl::StatusOr<TableFormat> TableFormatOfPath(absl::string_view path);

// The same leaderboard always gives the same bytes.
std::string WriteLeaderboard(const Leaderboard& board, TableFormat format);

// Sentences that explain intervals, marks and order; every format has them.
std::vector<std::string> Legend(const Leaderboard& board);

namespace internal {
std::string WriteCsv(const Leaderboard& board);
std::string WriteJson(const Leaderboard& board);
// "38.5 [36.2, 40.8] ab 4/5; learned, 3/3 above": a cell as people read it.
std::string CellText(const Metric& metric, RunRecord::Kind kind,
                     const std::optional<LeaderboardCell>& cell);
std::string AverageText(const Metric& metric, const LeaderboardRow& row);
// A published row as printed, and ours less it: label, cells, and the average if there is one.
std::vector<std::string> PrintedCells(const PublishedRows::Row& row, bool has_average);
std::vector<std::string> DifferenceCells(const Metric& metric, const PublishedRows::Beside& ours,
                                         bool has_average);
// What a group of rows is called.
std::string SectionTitle(RunRecord::Kind kind);
// "Leaderboard, table 2 of 3".
std::string TableTitle(size_t index, size_t count);
// The table's notes, with one on its columns of cost where it has some, and those on the published
// rows that it shows.
std::vector<std::string> TableNotes(const LeaderboardTable& table, bool shows_cost);
// Returns "measured", "baseline" or "external".
std::string KindName(RunRecord::Kind kind);
// Returns "unknown", "yes" or "no".
std::string VerdictName(Verdict verdict);
}  // namespace internal

}  // namespace lra

#endif  // LRA_EVAL_TABLE_WRITER_H_
