// Tables of text cells, for terminals, pages and programs.
#ifndef LRA_TEXT_TABLE_H_
#define LRA_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace lra {

struct TextTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// Padded, so that it can be read in a terminal; numbers stand right.
std::string ToMarkdown(const TextTable& table);
// One line a row, fields quoted where they must be; the title in a first column.
std::string ToCsv(const TextTable& table);

}  // namespace lra

#endif  // LRA_TEXT_TABLE_H_
