// Labelled texts in a table of two columns, e.g. Kaggle's "IMDB Dataset.csv" (review,sentiment) or
// a table "label TAB sentence" like SST's.
//
//   CsvReader reader(TableDialect::kCsv, kTableColumns);
//   // For the first row:
//   LRA_ASSIGN_OR_RETURN(const TableLayout layout, DetectLayout(row));
//   // For every row, except the first if layout.has_header:
//   LRA_ASSIGN_OR_RETURN(LabelledText example, ParseTableRow(layout, std::move(row)));
#ifndef LRA_TASKS_TEXT_TABLE_ROW_H_
#define LRA_TASKS_TEXT_TABLE_ROW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tasks/csv_reader.h"

namespace lra::text {

inline constexpr int kTableColumns = 2;

struct TableLayout {
  int label_column = 0;  // 0 or 1; the text is the other one
  bool has_header = false;
};

struct LabelledText {
  int32_t label = 0;
  std::string text;
  int64_t line = 0;  // where the row began, counted from 1
};

// Accepts exactly 0, neg, negative (0) and 1, pos, positive (1).
std::optional<int32_t> ParseLabel(absl::string_view text);

// Decides from the first row (of kTableColumns fields). If one column is a label, that is the label
// column; otherwise the row is a header, in which one of these names must occur, in upper or lower
// case: label, sentiment, class, polarity, target; text, review, sentence, content, document.
// InvalidArgument if both columns are labels, or none of this applies.
absl::StatusOr<TableLayout> DetectLayout(const CsvRow& first);

// InvalidArgument names the line and the value if the label is not valid or the text is empty.
absl::StatusOr<LabelledText> ParseTableRow(const TableLayout& layout, CsvRow row);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_TABLE_ROW_H_
