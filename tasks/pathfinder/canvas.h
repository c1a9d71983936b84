// The image while it is drawn: real brightness, joined by maximum. Paddles have the precision of a
// float, markers and the stretching that of a double, as in the original: with contrasts such
// as 1.5 every other grey value is halfway between two bytes, and the rounding error decides.
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
  void DrawPaddle(const uint8_t* coverage, int rows, int columns, Point corner, double contrast);
  // The same at contrast 1.
  void DrawMarker(const uint8_t* coverage, int rows, int columns, Point corner);
  // Least value to 0, greatest to 255, rounded to the nearest byte. A plain image becomes 0.
  void Stretch(std::vector<uint8_t>* pixels) const;

 private:
  template <class Brightness>
  void Draw(const uint8_t* coverage, int rows, int columns, Point corner, Brightness brightness);

  int side_;
  std::vector<double> values_;  // 1 is full coverage at contrast 1
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_CANVAS_H_
