// For tests only.
#ifndef LRA_DATASETS_NPY_TEST_UTIL_H_
#define LRA_DATASETS_NPY_TEST_UTIL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "datasets/npy.h"
#include "lra/status_macros.h"

namespace lra {

struct FloatArray {
  std::vector<float> values;
  std::vector<int64_t> shape;
};

// A copy of a whole file of float32. InvalidArgument for another type; the errors of
// MappedNpy::Open.
inline absl::StatusOr<FloatArray> ReadNpyFloat(absl::string_view path) {
  LRA_ASSIGN_OR_RETURN(const MappedNpy file, MappedNpy::Open(path));
  if (file.header().type != NpyType::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": its type is ", NpyDescr(file.header().type), ", not <f4"));
  }
  const absl::Span<const float> values = file.values<float>();
  return FloatArray{{values.begin(), values.end()}, file.header().shape};
}

}  // namespace lra

#endif  // LRA_DATASETS_NPY_TEST_UTIL_H_
