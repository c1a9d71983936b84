#include "tasks/pathfinder/metadata.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lra/excerpt.h"
#include "lra/status_macros.h"

namespace lra::pathfinder {
namespace {

constexpr int kColumns = 6;        // columns that are read
constexpr int kNeededColumns = 4;  // columns that must be there

absl::Status ColumnError(int column, absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("column ", column, " is ", Excerpt(found), "; ", expected, " is expected"));
}

// Digits without leading zeros, so that a number has one spelling and a row one path.
bool ParseNumber(absl::string_view text, int32_t* number) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, number);
}

// The first columns of the line; as many as there are, up to kColumns.
int SplitColumns(absl::string_view line, std::array<absl::string_view, kColumns>* columns) {
  int count = 0;
  while (count < kColumns) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (line.empty()) break;
    const auto end = std::find_if(line.begin(), line.end(), absl::ascii_isspace);
    (*columns)[count] = line.substr(0, end - line.begin());
    line.remove_prefix((*columns)[count++].size());
  }
  return count;
}

absl::StatusOr<MetadataRow> ParseRow(absl::string_view line) {
  std::array<absl::string_view, kColumns> columns;
  const int count = SplitColumns(line, &columns);
  if (count < kNeededColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line has ", count, " of at least ", kNeededColumns,
                     " columns: imgs/<batch>, sample_<image>.png, the image's number, its label"));
  }
  MetadataRow row;
  absl::string_view folder = columns[0];
  if (!absl::ConsumePrefix(&folder, "imgs/") || !ParseNumber(folder, &row.batch)) {
    return ColumnError(1, columns[0], "imgs/<batch>, a folder with a number,");
  }
  absl::string_view file = columns[1];
  if (!absl::ConsumePrefix(&file, "sample_") || !absl::ConsumeSuffix(&file, ".png") ||
      !ParseNumber(file, &row.image)) {
    return ColumnError(2, columns[1], "sample_<image>.png, a file with a number,");
  }
  if (columns[2] != file) {
    return ColumnError(3, columns[2], absl::StrCat(file, ", the number in ", columns[1], ","));
  }
  if (columns[3] != "0" && columns[3] != "1") return ColumnError(4, columns[3], "a label 0 or 1");
  row.label = columns[3] == "1" ? 1 : 0;
  if (count == kColumns && !ParseNumber(columns[5], &row.contour_paddles)) row.contour_paddles = 0;
  return row;
}

}  // namespace

std::string MetadataRow::path() const {
  return absl::StrCat("imgs/", batch, "/sample_", image, ".png");
}

absl::StatusOr<std::vector<MetadataRow>> ParseMetadata(absl::string_view text,
                                                       absl::string_view where) {
  if (absl::StartsWith(text, "\x93NUMPY")) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": is a NumPy array; the text that the release calls .npy, ",
                     "a line an image, is expected"));
  }
  std::vector<MetadataRow> rows;
  for (int64_t line_number = 1; !text.empty(); ++line_number) {
    const absl::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (absl::StripLeadingAsciiWhitespace(line).empty()) continue;
    absl::StatusOr<MetadataRow> row = ParseRow(line);
    if (!row.ok()) return Annotate(row.status(), absl::StrCat(where, ":", line_number));
    row->line = line_number;
    rows.push_back(*row);
  }
  return rows;
}

}  // namespace lra::pathfinder
