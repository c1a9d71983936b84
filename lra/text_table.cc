#include "lra/text_table.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace lra {
namespace {

// Letters of a UTF-8 text.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool IsNumeric(const std::string& text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-');
}

std::string Padded(const std::string& text, size_t width, bool is_right) {
  const std::string space(width - std::min(width, WidthOf(text)), ' ');
  return is_right ? space + text : text + space;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string ToMarkdown(const TextTable& table) {
  std::vector<size_t> widths;
  for (const std::string& name : table.header) widths.push_back(std::max<size_t>(3, WidthOf(name)));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  std::string text = table.title.empty() ? "" : absl::StrCat(table.title, "\n\n");
  const auto add = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < table.header.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : "";
      absl::StrAppend(&text, "| ", Padded(cell, widths[i], i > 0 && IsNumeric(cell)), " ");
    }
    absl::StrAppend(&text, "|\n");
  };
  add(table.header);
  for (const size_t width : widths) absl::StrAppend(&text, "|", std::string(width + 2, '-'));
  absl::StrAppend(&text, "|\n");
  for (const auto& row : table.rows) add(row);
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
