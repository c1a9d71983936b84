#include "lra/byte_difference.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lra {
namespace {

std::optional<uint8_t> ByteAt(absl::string_view bytes, size_t at) {
  if (at >= bytes.size()) return std::nullopt;
  return static_cast<uint8_t>(bytes[at]);
}

std::string ByteText(std::optional<uint8_t> byte) {
  if (!byte) return "nothing";
  const std::string hex = absl::StrFormat("0x%02x", *byte);
  return absl::ascii_isprint(*byte) ? absl::StrFormat("%s (\"%c\")", hex, *byte) : hex;
}

}  // namespace

std::optional<ByteDifference> FirstDifference(absl::string_view is, absl::string_view expected) {
  const auto [a, b] = std::mismatch(is.begin(), is.end(), expected.begin(), expected.end());
  if (a == is.end() && b == expected.end()) return std::nullopt;
  const auto at = static_cast<size_t>(a - is.begin());
  return ByteDifference{static_cast<int64_t>(at), 1 + std::count(is.begin(), a, '\n'),
                        ByteAt(is, at), ByteAt(expected, at)};
}

std::string DescribeBytes(const ByteDifference& difference) {
  return absl::StrCat("byte ", difference.offset_bytes, " is ", ByteText(difference.is),
                      ", expected ", ByteText(difference.expected));
}

}  // namespace lra
