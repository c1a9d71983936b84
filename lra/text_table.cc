#include "lra/text_table.h"

#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

bool IsNumeric(const std::string& text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-');
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string EscapeCell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}});
}

std::string EscapeNote(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", " "},
                                    {"\\", "\\\\"},
                                    {"*", "\\*"},
                                    {"](", "]\\("},
                                    {"< ", "< "},  // "p < 0.005" is no tag
                                    {"<", "&lt;"}});
}

std::string ToMarkdown(const TextTable& table) {
  std::vector<std::vector<std::string>> lines = {table.header};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  for (auto& line : lines) {
    for (std::string& cell : line) cell = EscapeCell(cell);
  }
  const std::vector<size_t> widths = ColumnWidths(lines, 3);
  std::string text = table.title.empty() ? "" : absl::StrCat(table.title, "\n\n");
  const auto add = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < table.header.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : "";
      const bool is_right = i > 0 && IsNumeric(cell);
      absl::StrAppend(&text, "| ", (is_right ? PadLeft : PadRight)(cell, widths[i]), " ");
    }
    absl::StrAppend(&text, "|\n");
  };
  add(lines.front());
  for (const size_t width : widths) absl::StrAppend(&text, "|", std::string(width + 2, '-'));
  absl::StrAppend(&text, "|\n");
  for (size_t row = 1; row < lines.size(); ++row) add(lines[row]);
  return text;
}

std::string ToCsv(const TextTable& table) {
  std::string text = "table";
  for (const std::string& name : table.header) absl::StrAppend(&text, ",", CsvField(name));
  absl::StrAppend(&text, "\n");
  for (const auto& row : table.rows) {
    absl::StrAppend(&text, CsvField(table.title));
    for (const std::string& cell : row) absl::StrAppend(&text, ",", CsvField(cell));
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace lra
