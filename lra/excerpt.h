// A short excerpt of foreign text for a message: enough to recognise it, and safe to print.
#ifndef LRA_EXCERPT_H_
#define LRA_EXCERPT_H_

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace lra {

// Returns the text in double quotes with everything but printable ASCII escaped, cut to `max_bytes`
// (marked by "..."). The result has at most 4 * max_bytes + 5 characters.
inline std::string Excerpt(absl::string_view text, size_t max_bytes = 40) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, max_bytes)),
                      text.size() > max_bytes ? "\"..." : "\"");
}

// The last line that is not empty: what a failed program has to say.
inline std::string LastLine(absl::string_view text) {
  const absl::string_view written = absl::StripTrailingAsciiWhitespace(text);
  const size_t end = written.rfind('\n');
  return std::string(end == absl::string_view::npos ? written : written.substr(end + 1));
}

}  // namespace lra

#endif  // LRA_EXCERPT_H_
