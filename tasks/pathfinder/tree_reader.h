// Streams the official Pathfinder tree: images <difficulty>/imgs/<batch>/sample_<i>.png and lists
// <difficulty>/metadata/<batch>.npy, which are text.
#ifndef LRA_TASKS_PATHFINDER_TREE_READER_H_
#define LRA_TASKS_PATHFINDER_TREE_READER_H_

#include <memory>
#include <string>

#include "tasks/task.h"

namespace lra::pathfinder {

struct TreeOptions {
  int side_pixels = 32;
  // The folder of the difficulty, e.g. "curv_contour_length_14".
  std::string difficulty_folder;
  // The contour length that the metadata must give, where it gives one.
  int contour_paddles = 14;
};

// RawExample.bytes is a PNG; labels come with Order, which follows the batches and lines of the
// metadata (both ordered as numbers). Files of other sizes (pathfinder64/) and difficulties are
// skipped; a source that names neither is taken for the folder of the one difficulty. One empty PNG
// is left out and named, because the release has one; more are an error. Memory: one PNG or list,
// and about 150 bytes an image at the end.
std::unique_ptr<RawReader> MakeTreeReader(std::unique_ptr<RawSource> source, TreeOptions options);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_TREE_READER_H_
