// Writes a leaderboard as text. Markdown is padded so that it can be read in a terminal; CSV has
// one line for each cell; LaTeX is a booktabs table for \input; JSON holds everything.
#ifndef LRA_EVAL_TABLE_WRITER_H_
#define LRA_EVAL_TABLE_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/leaderboard.h"

namespace lra {

enum class TableFormat { kMarkdown, kCsv, kLatex, kJson };

// Parses "md", "csv", "tex" or "json"; InvalidArgument with the known names otherwise.
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
// Returns "measured", "baseline" or "external".
std::string KindName(RunRecord::Kind kind);
}  // namespace internal

}  // namespace lra

#endif  // LRA_EVAL_TABLE_WRITER_H_
