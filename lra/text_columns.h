// Text in columns: how wide it is, padded cells, and lines whose cells stand below each other.
#ifndef LRA_TEXT_COLUMNS_H_
#define LRA_TEXT_COLUMNS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

// Widths are characters of UTF-8, that is code points, each taken to fill one column. So a mark
// that combines with the letter before it counts by itself, and a wide ideograph counts once.
size_t CountCharacters(absl::string_view text);
// Where the first `count` characters end, in bytes; the whole size where there are fewer.
size_t EndOfCharacters(absl::string_view text, size_t count);

// With spaces behind it, or before it, up to this width; what is wider already stays as it is.
std::string PadRight(absl::string_view text, size_t width);
std::string PadLeft(absl::string_view text, size_t width);

// The width of the widest cell of each column, at least `least`. Lines may end early.
std::vector<size_t> ColumnWidths(const std::vector<std::vector<std::string>>& lines,
                                 size_t least = 0);

// Lines whose cells stand below each other, two spaces between columns, none at a line's end.
std::string AlignedText(const std::vector<std::vector<std::string>>& lines);

}  // namespace lra

#endif  // LRA_TEXT_COLUMNS_H_
