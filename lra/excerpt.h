// A short excerpt of foreign text for a message: enough to recognise it, and safe to print.
#ifndef LRA_EXCERPT_H_
#define LRA_EXCERPT_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace lra {

// How much of a text, or of a name that may be a text by mistake, a message shows.
inline constexpr size_t kExcerptOfBytes = 40;

// Returns the text in double quotes with everything but printable ASCII escaped, cut to `max_bytes`
// (marked by "..."). The result has at most 4 * max_bytes + 5 characters.
inline std::string Excerpt(absl::string_view text, size_t max_bytes = kExcerptOfBytes) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, max_bytes)),
                      text.size() > max_bytes ? "\"..." : "\"");
}

// A name of valid UTF-8 in double quotes: letters of every language stay as they are, what cannot
// be printed is escaped. Cut between two code points (marked by "...") if it is longer.
inline std::string QuotedName(absl::string_view name, size_t max_bytes = absl::string_view::npos) {
  size_t end = std::min(max_bytes, name.size());
  while (end > 0 && end < name.size() && (name[end] & 0xc0) == 0x80) --end;
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(name.substr(0, end)),
                      end < name.size() ? "\"..." : "\"");
}

// The last line that is not empty: what a failed program has to say.
inline std::string LastLine(absl::string_view text) {
  const absl::string_view written = absl::StripTrailingAsciiWhitespace(text);
  const size_t end = written.rfind('\n');
  return std::string(end == absl::string_view::npos ? written : written.substr(end + 1));
}

}  // namespace lra

#endif  // LRA_EXCERPT_H_
