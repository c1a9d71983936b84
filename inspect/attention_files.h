// The files that `lra attend` writes: maps as arrays and as pictures.
#ifndef LRA_INSPECT_ATTENTION_FILES_H_
#define LRA_INSPECT_ATTENTION_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "eval/attention_map.h"
#include "inspect/attention_maps.h"

namespace lra {

// Sums of maps by (layer, head).
using HeadSums = std::map<std::pair<int64_t, int64_t>, AttentionMapSum>;

// The square picture whose pixels are the keys from `first_key` on; side 0 = the inputs are none.
struct PictureKeys {
  int64_t side = 0;
  int64_t first_key = 0;
};

// Writes the maps of `sums`, and of `reweightings` unless there are none, into request.out_dir and
// names them in attended->maps.
absl::Status WriteMapFiles(const AttendRequest& request, const HeadSums& sums,
                           const HeadSums& reweightings, const PictureKeys& picture,
                           Attended* attended);

}  // namespace lra

#endif  // LRA_INSPECT_ATTENTION_FILES_H_
