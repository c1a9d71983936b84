// Python's literals of bytes, b'...' or b"...", as the texts of the Retrieval files are written
// (docs.python.org/3/reference/lexical_analysis.html, string and bytes literals).
#ifndef LRA_DATASETS_BYTE_LITERAL_H_
#define LRA_DATASETS_BYTE_LITERAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

// Begins with b' or b" and ends with the same quote. (A text that is no literal stays as it is;
// that is the caller's to decide.)
bool LooksLikeByteLiteral(absl::string_view text);

// The bytes that Python makes of the literal: \\ \' \" \a \b \f \n \r \t \v, \ooo (one to three
// octal digits, modulo 256), \xhh; a backslash before a line end takes both away (CR LF and CR
// too); any other backslash stays. InvalidArgument names the byte, from 0, for what Python refuses
// as well: no or an early closing quote, \x without two digits, a line end, NUL or a byte above 127
// as it is. (Tripled quotes and literals side by side are refused, too.) The result is shorter than
// the literal.
absl::StatusOr<std::string> DecodeByteLiteral(absl::string_view literal);

// As above for a literal of which only the first bytes are left, at least b and the quote; a whole
// one is welcome. An escape that the cut may have fallen into is dropped (\1 and \12 as well: more
// digits may have followed), so the result is always a prefix of what the whole literal gives.
absl::StatusOr<std::string> DecodeByteLiteralPrefix(absl::string_view literal);

}  // namespace lra

#endif  // LRA_DATASETS_BYTE_LITERAL_H_
