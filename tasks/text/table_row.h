// Labelled texts in a table of two columns, e.g. Kaggle's "IMDB Dataset.csv" (review,sentiment) or
// an SST-like label TAB sentence.
//
//   CsvReader reader(TableDialect::kCsv, kTableColumns);
//   ... first row:
//   LRA_ASSIGN_OR_RETURN(const TableLayout layout, DetectLayout(row));
//   ... every row, the first only if !layout.has_header:
//   LRA_ASSIGN_OR_RETURN(LabelledText example, ParseTableRow(layout, std::move(row)));
#ifndef LRA_TASKS_TEXT_TABLE_ROW_H_
#define LRA_TASKS_TEXT_TABLE_ROW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tasks/text/csv_reader.h"

namespace lra::text {

inline constexpr int kTableColumns = 2;

struct TableLayout {
  int label_column = 0;  // 0 or 1; the text is the other one
  bool has_header = false;
};

struct LabelledText {
  int32_t label = 0;
  std::string text;
  int64_t line = 0;  // at which the row began, from 1
};

// 0, neg, negative -> 0; 1, pos, positive -> 1; exactly so.
std::optional<int32_t> ParseLabel(absl::string_view text);

// From the first row (of kTableColumns fields): the column that is a label is the label's, or else
// the row is a header in which one name tells, in upper or lower case (label, sentiment, class,
// polarity, target; text, review, sentence, content, document). InvalidArgument if both columns are
// labels, or nothing tells.
absl::StatusOr<TableLayout> DetectLayout(const CsvRow& first);

// InvalidArgument names the line and the value if the label is none or the text is empty.
absl::StatusOr<LabelledText> ParseTableRow(const TableLayout& layout, CsvRow row);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_TABLE_ROW_H_
