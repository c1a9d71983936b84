#include "lra/text_columns.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

// Whether a byte goes on with the character before it.
bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

std::string SpacesUpTo(size_t width, absl::string_view text) {
  return std::string(width - std::min(width, CountCharacters(text)), ' ');
}

}  // namespace

size_t CountCharacters(absl::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += ContinuesCharacter(byte) ? 0 : 1;
  return count;
}

size_t EndOfCharacters(absl::string_view text, size_t count) {
  size_t end = 0;
  while (end < text.size() && (count > 0 || ContinuesCharacter(text[end]))) {
    if (!ContinuesCharacter(text[end])) --count;
    ++end;
  }
  return end;
}

std::string PadRight(absl::string_view text, size_t width) {
  return absl::StrCat(text, SpacesUpTo(width, text));
}

std::string PadLeft(absl::string_view text, size_t width) {
  return absl::StrCat(SpacesUpTo(width, text), text);
}

std::vector<size_t> ColumnWidths(const std::vector<std::vector<std::string>>& lines, size_t least) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& line : lines) {
    if (line.size() > widths.size()) widths.resize(line.size(), least);
    for (size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], CountCharacters(line[c]));
  }
  return widths;
}

std::string AlignedText(const std::vector<std::vector<std::string>>& lines) {
  const std::vector<size_t> widths = ColumnWidths(lines);
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string row;
    for (size_t c = 0; c < line.size(); ++c)
      absl::StrAppend(&row, PadRight(line[c], widths[c]), "  ");
    row.erase(row.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, row, "\n");
  }
  return text;
}

}  // namespace lra
