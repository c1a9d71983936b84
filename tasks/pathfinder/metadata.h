// The metadata files of the Pathfinder release, metadata/<batch>.npy: in spite of their name plain
// text, a line an image, as drewlinsley/pathfinder's snakes2.py lists what it drew:
//
//   imgs/<batch> sample_<image>.png <image> <label> <continuity> <contour length> ...
#ifndef LRA_TASKS_PATHFINDER_METADATA_H_
#define LRA_TASKS_PATHFINDER_METADATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra::pathfinder {

struct MetadataRow {
  int32_t batch = 0;
  int32_t image = 0;            // number in the batch
  int32_t label = 0;            // 1: both markers lie on the same contour
  int32_t contour_paddles = 0;  // the sixth column; 0 where there is none
  int64_t line = 0;             // from 1
  // Of the image, from the folder that holds imgs/ and metadata/: "imgs/3/sample_17.png".
  std::string path() const;
};

// The rows in their order; columns are parted by any white space; of those behind the label only
// the sixth is looked at, if it is a number; empty lines are skipped. The path must be of the form
// above to the letter (so it leads nowhere else) and hold the number that the third column says.
// InvalidArgument names `where`, the line, the column and its value. Allocates at most 4 bytes a
// byte of text.
absl::StatusOr<std::vector<MetadataRow>> ParseMetadata(absl::string_view text,
                                                       absl::string_view where);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_METADATA_H_
