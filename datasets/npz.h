// NumPy's .npz files: zip archives of .npy files.
#ifndef LRA_DATASETS_NPZ_H_
#define LRA_DATASETS_NPZ_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/npy.h"

namespace lra {

// Whether the path ends in ".npz".
bool IsNpzPath(absl::string_view path);

// The arrays of an .npz file, by name ("index" of the entry "index.npy"), in memory. Every array
// must be one of `names`; not all need be there. InvalidArgument names an unknown or double array,
// and a file whose arrays have more than `max_bytes` together; DataLoss for a damaged one.
absl::StatusOr<std::map<std::string, MappedNpy>> ReadNpz(absl::string_view path,
                                                         const std::vector<std::string>& names,
                                                         int64_t max_bytes);

}  // namespace lra

#endif  // LRA_DATASETS_NPZ_H_
