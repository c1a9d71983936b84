// Python's bytes literals, b'...' or b"...", in which the texts of the Retrieval files are written
// (docs.python.org/3/reference/lexical_analysis.html, "String and Bytes literals").
#ifndef LRA_DATASETS_BYTE_LITERAL_H_
#define LRA_DATASETS_BYTE_LITERAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

// Whether the text begins with b' or b" and ends with the same quote. What to do with a text that
// is no literal is up to the caller.
bool LooksLikeByteLiteral(absl::string_view text);

// Decodes a literal as Python does: \\ \' \" \a \b \f \n \r \t \v, \ooo (one to three octal digits,
// modulo 256) and \xhh; a backslash before a line end (LF, CR LF or CR) disappears with it; any
// other backslash stays. InvalidArgument names the byte, counted from 0, for what Python refuses as
// well: a closing quote that is missing or comes early, \x without two digits, a line end, NUL, or
// a byte above 127. (Triple quotes and adjacent literals are refused, too.) The result is shorter
// than the literal.
absl::StatusOr<std::string> DecodeByteLiteral(absl::string_view literal);

// Decodes the beginning of a literal that was cut off; it must hold at least b and the quote, and
// may be complete. An escape that the cut may have shortened is dropped (also \1 and \12, since
// more digits may have followed), so the result is always a prefix of what the complete literal
// gives.
absl::StatusOr<std::string> DecodeByteLiteralPrefix(absl::string_view literal);

}  // namespace lra

#endif  // LRA_DATASETS_BYTE_LITERAL_H_
