// Streams the official Pathfinder tree: <difficulty>/imgs/<batch>/sample_<i>.png and
// <difficulty>/metadata/<batch>.npy, which are text.
#ifndef LRA_TASKS_PATHFINDER_TREE_READER_H_
#define LRA_TASKS_PATHFINDER_TREE_READER_H_

#include <memory>
#include <string>

#include "tasks/task.h"

namespace lra::pathfinder {

struct TreeOptions {
  int side_pixels = 32;
  // "curv_contour_length_14"
  std::string difficulty_folder;
  // What the metadata must say, where it says it: 14.
  int contour_paddles = 14;
};

// RawExample.bytes is a PNG; labels come with Order, which follows batches and lines of the
// metadata (both as numbers). Files of other sizes (pathfinder64/) and difficulties are passed
// over; a source that names neither is taken as the one difficulty's folder. One empty PNG
// is left out and named, since the release has one; more are an error. Holds one PNG or list, and
// about 150 bytes an image at the end.
std::unique_ptr<RawReader> MakeTreeReader(std::unique_ptr<RawSource> source, TreeOptions options);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_TREE_READER_H_
