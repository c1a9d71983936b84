#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/byte_literal.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra {
namespace {

// Formats bytes as Python's repr does.
std::string Repr(absl::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string literal = "b'";
  for (const char signed_byte : bytes) {
    const auto byte = static_cast<uint8_t>(signed_byte);
    if (byte == '\n') {
      literal += "\\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      literal += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (byte == '\\' || byte == '\'') literal += '\\';
      literal += signed_byte;
    }
  }
  return literal + "'";
}

void CheckRoundTrip(absl::string_view bytes) {
  const std::string literal = Repr(bytes);
  LRA_CHECK(LooksLikeByteLiteral(literal));
  LRA_CHECK(*DecodeByteLiteral(literal) == bytes);
}

void CheckLiteral(absl::string_view literal) {
  const auto whole = DecodeByteLiteral(literal);
  const auto prefix = DecodeByteLiteralPrefix(literal);
  LRA_CHECK(!whole.ok() || LooksLikeByteLiteral(literal));
  LRA_CHECK(!whole.ok() || (prefix.ok() && *prefix == *whole));
  if (!prefix.ok()) return;
  LRA_CHECK(prefix->size() + 2 <= literal.size());
  // Wherever a literal is cut off, the rest decodes to a beginning of the whole.
  for (size_t size = 2; size < literal.size() && size < 100; ++size) {
    const auto cut = DecodeByteLiteralPrefix(literal.substr(0, size));
    LRA_CHECK(cut.ok() && absl::StartsWith(*prefix, *cut)) << size;
  }
}

}  // namespace
}  // namespace lra

LRA_FUZZ_TARGET(byte_literal) {
  lra::CheckLiteral(input);
  lra::CheckLiteral(absl::StrCat("b'", input));
  lra::CheckLiteral(absl::StrCat("b\"", input, "\""));
  lra::CheckRoundTrip(input);
}
