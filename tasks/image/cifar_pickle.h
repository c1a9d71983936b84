// The Python files of CIFAR-10, cifar-10-batches-py/{data_batch_1..5,test_batch}
// (https://www.cs.toronto.edu/~kriz/cifar.html): a pickled dictionary with `data`, a uint8 array
// [n, 3072], and `labels`, a list of n integers.
#ifndef LRA_TASKS_IMAGE_CIFAR_PICKLE_H_
#define LRA_TASKS_IMAGE_CIFAR_PICKLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tasks/image/cifar_binary.h"

namespace lra::image {

struct CifarBatch {
  std::vector<uint8_t> labels;  // [n], 0 .. 9
  std::vector<uint8_t> pixels;  // [n, 3072], each row like CifarImage::planes
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  CifarImage image(int64_t i) const { return {labels[i], pixels.data() + i * kCifarImageBytes}; }
};

// Reads what Python 2 wrote and what NumPy writes today: protocols 2 to 5, keys as strings or
// bytes, the array in C or Fortran order; other keys are ignored. InvalidArgument names the byte
// and opcode at which the pickle is malformed, or the key and what it holds. Allocates at most
// twice the size of the file and 32 MiB. `image_bytes` is the width of a row; only tests change it.
absl::StatusOr<CifarBatch> ParseCifarPickle(absl::string_view bytes,
                                            int64_t image_bytes = kCifarImageBytes);

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_CIFAR_PICKLE_H_
