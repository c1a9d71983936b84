// The binary files of CIFAR-10, cifar-10-batches-bin/*.bin
// (https://www.cs.toronto.edu/~kriz/cifar.html): records of one label byte and three planes of 32 x
// 32 bytes.
#ifndef LRA_TASKS_IMAGE_CIFAR_BINARY_H_
#define LRA_TASKS_IMAGE_CIFAR_BINARY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra::image {

inline constexpr int kCifarSide = 32;
inline constexpr int kCifarPlaneBytes = kCifarSide * kCifarSide;
inline constexpr int kCifarImageBytes = 3 * kCifarPlaneBytes;
inline constexpr int kCifarRecordBytes = 1 + kCifarImageBytes;
// The classes are airplane, automobile, bird, cat, deer, dog, frog, horse, ship and truck.
inline constexpr int kCifarClasses = 10;

// A view of one record, valid as long as the bytes that it was made from.
struct CifarImage {
  int32_t label = 0;                // 0 .. 9
  const uint8_t* planes = nullptr;  // red, green, blue: uint8 [3, 32, 32], rows from the top
  const uint8_t* red() const { return planes; }
  const uint8_t* green() const { return planes + kCifarPlaneBytes; }
  const uint8_t* blue() const { return planes + ptrdiff_t{2} * kCifarPlaneBytes; }
};

// Parses one record; `record` is its number in the file, counted from 0, for the message.
// InvalidArgument names the record, its byte in the file, and what was found.
absl::StatusOr<CifarImage> ParseCifarRecord(absl::string_view bytes, int64_t record);

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_CIFAR_BINARY_H_
