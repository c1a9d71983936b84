// The image while it is drawn: real brightness, joined by maximum.
#ifndef LRA_TASKS_PATHFINDER_CANVAS_H_
#define LRA_TASKS_PATHFINDER_CANVAS_H_

#include <cstdint>
#include <vector>

#include "tasks/pathfinder/geometry.h"

namespace lra::pathfinder {

class Canvas {
 public:
  // Black.
  explicit Canvas(int side_pixels);

  // Coverage bytes (rows x columns, row-major) times contrast, the upper left one at `corner`; what
  // is outside of the image is cut off.
  void Draw(const uint8_t* coverage, int rows, int columns, Point corner, double contrast);
  // Least value to 0, greatest to 255, rounded to the nearest byte. A plain image becomes 0.
  void Stretch(std::vector<uint8_t>* pixels) const;

 private:
  int side_;
  std::vector<double> values_;  // 255 is full coverage at contrast 1
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_CANVAS_H_
