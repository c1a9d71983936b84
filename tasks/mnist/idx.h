// The IDX format of MNIST's files: a magic number, sizes and bytes.
#ifndef LRA_TASKS_MNIST_IDX_H_
#define LRA_TASKS_MNIST_IDX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra::mnist {

// The bytes behind the header of an array of unsigned bytes with these sizes, row-major. DataLoss,
// naming what is wrong, for another type or another number of dimensions, other sizes, and a file
// that is too short or too long.
absl::StatusOr<absl::string_view> ParseIdx(absl::string_view file,
                                           const std::vector<uint32_t>& sizes);

// The file that ParseIdx reads.
std::string MakeIdx(const std::vector<uint32_t>& sizes, absl::string_view bytes);

}  // namespace lra::mnist

#endif  // LRA_TASKS_MNIST_IDX_H_
