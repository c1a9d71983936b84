// The image while it is drawn: brightness as real numbers, of which the greater one wins where
// shapes overlap. As in the original, paddles have float precision, and markers and stretching
// double precision: with contrasts such as 1.5 every other grey value lies halfway between two
// bytes, and the rounding error decides.
#ifndef LRA_TASKS_PATHFINDER_CANVAS_H_
#define LRA_TASKS_PATHFINDER_CANVAS_H_

#include <cstdint>
#include <vector>

#include "tasks/pathfinder/geometry.h"

namespace lra::pathfinder {

class Canvas {
 public:
  // Begins with a black image.
  explicit Canvas(int side_pixels);

  // Draws coverage bytes (rows x columns, row-major) times contrast with the upper left one at
  // `corner`. What lies outside of the image is cut off.
  void DrawPaddle(const uint8_t* coverage, int rows, int columns, Point corner, double contrast);
  // Does the same at contrast 1.
  void DrawMarker(const uint8_t* coverage, int rows, int columns, Point corner);
  // Stretches the image so that the least value becomes 0 and the greatest 255, rounded to the
  // nearest byte. An image with a single value becomes 0.
  void Stretch(std::vector<uint8_t>* pixels) const;

 private:
  template <class Brightness>
  void Draw(const uint8_t* coverage, int rows, int columns, Point corner, Brightness brightness);

  int side_;
  std::vector<double> values_;  // 1 is full coverage at contrast 1
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_CANVAS_H_
