// Where two texts or files begin to differ, in words: which byte of which line it is.
#ifndef LRA_BYTE_DIFFERENCE_H_
#define LRA_BYTE_DIFFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace lra {

struct ByteDifference {
  int64_t offset_bytes = 0;  // of the first byte that differs, counted from 0
  int64_t line = 1;          // of text, counted from 1
  // Unset behind the end of the shorter one.
  std::optional<uint8_t> is, expected;
};

// nullopt for equal bytes.
std::optional<ByteDifference> FirstDifference(absl::string_view is, absl::string_view expected);

// "byte 412 is 0x38 ("8"), expected 0x37 ("7")"; "byte 412 is missing, expected ...".
std::string DescribeBytes(const ByteDifference& difference);

}  // namespace lra

#endif  // LRA_BYTE_DIFFERENCE_H_
