// Which part of a whole a process is asked for: --shard k/n.
#ifndef LRA_PART_H_
#define LRA_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lra {

struct Part {
  int32_t index = 0, parts = 1;
};

// "1/3" is the second of three parts. InvalidArgument for anything but 0 <= k < n.
inline absl::StatusOr<Part> ParsePart(const std::string& text) {
  const std::vector<std::string> numbers = absl::StrSplit(text, '/');
  Part part;
  if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &part.index) ||
      !absl::SimpleAtoi(numbers[1], &part.parts) || part.index < 0 || part.index >= part.parts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard is \"", text, "\"; k/n with 0 <= k < n is expected, 0/8 for the first of 8"));
  }
  return part;
}

}  // namespace lra

#endif  // LRA_PART_H_
