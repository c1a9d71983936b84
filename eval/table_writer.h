// A leaderboard as text. Markdown is padded so that it reads in a terminal as well; CSV holds one
// line a cell; LaTeX is a booktabs table for \input; JSON holds everything.
#ifndef LRA_EVAL_TABLE_WRITER_H_
#define LRA_EVAL_TABLE_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/leaderboard.h"

namespace lra {

enum class TableFormat { kMarkdown, kCsv, kLatex, kJson };

// "md", "csv", "tex" or "json"; InvalidArgument with the known names otherwise.
absl::StatusOr<TableFormat> ParseTableFormat(absl::string_view name);
// By the path's extension.
absl::StatusOr<TableFormat> TableFormatOfPath(absl::string_view path);

// The same leaderboard gives the same bytes.
std::string WriteLeaderboard(const Leaderboard& board, TableFormat format);

// What intervals, marks and order mean: the sentences that every format carries.
std::vector<std::string> Legend(const Leaderboard& board);

namespace internal {
std::string WriteCsv(const Leaderboard& board);
std::string WriteJson(const Leaderboard& board);
// "measured", "baseline", "external".
std::string KindName(RunRecord::Kind kind);
}  // namespace internal

}  // namespace lra

#endif  // LRA_EVAL_TABLE_WRITER_H_
