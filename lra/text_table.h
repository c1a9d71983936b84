// Tables of text cells, for terminals, pages and programs.
#ifndef LRA_TEXT_TABLE_H_
#define LRA_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

struct TextTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// What users wrote, for Markdown: a cell keeps to itself, and of a note (a description, the cause
// of a failure) no line break, emphasis, link or tag is made.
std::string EscapeCell(absl::string_view text);
std::string EscapeNote(absl::string_view text);

// Padded, so that it can be read in a terminal; numbers stand right. Cells are escaped.
std::string ToMarkdown(const TextTable& table);
// One line a row, fields quoted where they must be; the title in a first column.
std::string ToCsv(const TextTable& table);

}  // namespace lra

#endif  // LRA_TEXT_TABLE_H_
