#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lra/status_macros.h"
#include "tasks/csv_reader.h"
#include "tasks/text/table_row.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra::text {
namespace {

struct Table {
  std::vector<CsvRow> rows;  // up to the first error
  absl::Status status;
};

absl::Status Read(TableDialect dialect, int columns, absl::string_view file, size_t block_bytes,
                  std::vector<CsvRow>* rows) {
  CsvReader reader(dialect, columns);
  for (; !file.empty(); file.remove_prefix(std::min(block_bytes, file.size()))) {
    const std::string block(file.substr(0, block_bytes));
    reader.Feed(block);
    while (true) {
      LRA_ASSIGN_OR_RETURN(std::optional<CsvRow> row, reader.Next());
      if (!row.has_value()) break;
      rows->push_back(*std::move(row));
    }
  }
  return reader.Finish();
}

Table ReadTable(TableDialect dialect, int columns, absl::string_view file, size_t block_bytes) {
  Table table;
  table.status = Read(dialect, columns, file, block_bytes, &table.rows);
  return table;
}

bool SameFields(const Table& a, const Table& b) {
  return std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                    [](const CsvRow& x, const CsvRow& y) { return x.fields == y.fields; });
}

std::string Write(const Table& table) {
  std::string file;
  for (const CsvRow& row : table.rows) {
    const auto quote = [](std::string* out, const std::string& field) {
      absl::StrAppend(out, "\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
    };
    absl::StrAppend(&file, absl::StrJoin(row.fields, ",", quote), "\r\n");
  }
  return file;
}

void CheckRows(const Table& table, int columns, size_t file_bytes) {
  int64_t line = 0;
  size_t bytes = 0;
  for (const CsvRow& row : table.rows) {
    LRA_CHECK(row.line > line && row.fields.size() == static_cast<size_t>(columns));
    line = row.line;
    for (const std::string& field : row.fields) bytes += field.size() + 1;
  }
  LRA_CHECK(bytes <= file_bytes);
  if (columns != kTableColumns || table.rows.empty()) return;
  const auto layout = DetectLayout(table.rows[0]);
  if (!layout.ok()) return;
  for (const CsvRow& row : table.rows) {
    const auto example = ParseTableRow(*layout, row);
    LRA_CHECK(!example.ok() || (example->line == row.line && !example->text.empty() &&
                                *ParseLabel(row.fields[layout->label_column]) == example->label));
  }
}

void Check(TableDialect dialect, int columns, size_t block_bytes, absl::string_view file) {
  const Table whole = ReadTable(dialect, columns, file, std::max<size_t>(file.size(), 1));
  const Table blocks = ReadTable(dialect, columns, file, block_bytes);
  LRA_CHECK(blocks.status == whole.status) << blocks.status << " / " << whole.status;
  LRA_CHECK(SameFields(blocks, whole));
  CheckRows(whole, columns, file.size());
  const Table again = ReadTable(TableDialect::kCsv, columns, Write(whole), block_bytes);
  LRA_CHECK(again.status.ok() && SameFields(again, whole)) << again.status;
}

}  // namespace
}  // namespace lra::text

LRA_FUZZ_TARGET(csv) {
  const uint8_t choice = lra::TakeByte(&input);
  lra::text::Check(choice % 2 == 0 ? lra::TableDialect::kCsv : lra::TableDialect::kTsv,
                   1 + choice / 2 % 3, 1 + choice / 8, input);
}
