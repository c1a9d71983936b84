// The metadata files of the Pathfinder release, metadata/<batch>.npy. In spite of their name they
// are plain text with one line for each image, as drewlinsley/pathfinder's snakes2.py writes it:
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
  int32_t contour_paddles = 0;  // the sixth column; 0 if there is none
  int64_t line = 0;             // counted from 1
  // Path of the image, relative to the folder that holds imgs/ and metadata/:
  // "imgs/3/sample_17.png".
  std::string path() const;
};

// Returns the rows in their order. Columns are separated by any white space; after the label only
// the sixth is read, if it is a number; empty lines are skipped. The path must have exactly the
// form above (so it leads nowhere else) and hold the number in the third column. InvalidArgument
// names `where`, the line, the column and its value. Allocates at most 4 bytes for each byte of
// text.
absl::StatusOr<std::vector<MetadataRow>> ParseMetadata(absl::string_view text,
                                                       absl::string_view where);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_METADATA_H_
