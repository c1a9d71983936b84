// A short excerpt of foreign text for a message: enough to recognise it, and safe to print.
#ifndef LRA_EXCERPT_H_
#define LRA_EXCERPT_H_

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lra {

// Returns the text in double quotes with everything but printable ASCII escaped, cut to `max_bytes`
// (marked by "..."). The result has at most 4 * max_bytes + 5 characters.
inline std::string Excerpt(absl::string_view text, size_t max_bytes = 40) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, max_bytes)),
                      text.size() > max_bytes ? "\"..." : "\"");
}

}  // namespace lra

#endif  // LRA_EXCERPT_H_
