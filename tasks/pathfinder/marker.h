// The bright disc that marks the tip of a contour.
#ifndef LRA_TASKS_PATHFINDER_MARKER_H_
#define LRA_TASKS_PATHFINDER_MARKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tasks/pathfinder/geometry.h"

namespace lra::pathfinder {

// Pictures of the marker at every place of an image: a disc on a canvas of antialias_scale times
// the image's side, shrunk by the Lanczos filter. Away from the border all places look alike, so
// one picture is kept for each combination of distances to the border.
class MarkerPictures {
 public:
  MarkerPictures(int side_pixels, double radius_pixels, int antialias_scale);

  // A picture covers the pixels tip - reach .. tip + reach in both directions.
  int reach() const { return reach_; }
  // (2 * reach() + 1)^2 bytes of coverage, row-major, 0 outside of the image. The tip must be
  // inside.
  const uint8_t* At(Point tip) const {
    return &bytes_[static_cast<size_t>(ClassOf(tip.y) * classes_ + ClassOf(tip.x)) *
                   PictureBytes()];
  }

 private:
  int ClassOf(int coordinate) const;
  size_t PictureBytes() const { return static_cast<size_t>(2 * reach_ + 1) * (2 * reach_ + 1); }

  int side_, reach_;
  int border_;   // coordinates nearer to a border than this are classes of their own
  int classes_;  // number of classes of one coordinate
  std::vector<uint8_t> bytes_;
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_MARKER_H_
