// A paddle (dash) as a small picture: its line, and the mask of the space that it claims. Source:
// drewlinsley/pathfinder, commit ab9c130, snakes.py, with the rasterisers of Pillow.
#ifndef LRA_TASKS_PATHFINDER_PADDLE_STAMP_H_
#define LRA_TASKS_PATHFINDER_PADDLE_STAMP_H_

#include <cstdint>
#include <vector>

#include "tasks/pathfinder/geometry.h"
#include "tasks/pathfinder/lanczos.h"

namespace lra::pathfinder {

struct PaddleShape {
  int length_pixels;
  double thickness_pixels;  // times antialias_scale, it is an integer
  int margin_pixels;
  int antialias_scale;

  // Stamps have (2 * HalfSide() + 1)^2 pixels.
  int HalfSide() const;
  // The distance from the paddle's first end to the nearest possible head of the next paddle.
  int Reach() const { return length_pixels + margin_pixels; }
};

// Bytes of coverage, 0 .. 255, row-major. The line starts at the centre and goes in the stamp's
// direction.
struct PaddleStamp {
  int side;
  std::vector<uint8_t> line;
  std::vector<uint8_t> mask;
};

class PaddlePainter {
 public:
  explicit PaddlePainter(const PaddleShape& shape);

  const PaddleShape& shape() const { return shape_; }
  PaddleStamp Paint(double angle_rad) const;

 private:
  PaddleShape shape_;
  LanczosFilter filter_;
};

// Replaces every byte by the maximum over the disc of this radius around it. What lies outside of
// the square of side^2 bytes does not count.
std::vector<uint8_t> DilateByDisc(const std::vector<uint8_t>& image, int side, int radius);

// Draws Pillow's line of integer width, ends included, on a square canvas that holds it.
void DrawLine(Point from, Point to, int width, int side, std::vector<uint8_t>* canvas);

// The pixels, relative to a first paddle's tail, that must be free: the pixels of its mask with
// full value, moved by one pixel down and right as in the original, within Reach() of the tail.
std::vector<Point> CheckedPixels(const PaddleStamp& stamp, int reach);

// Whether the original's availability test, an OpenCV dilation by these pixels, sees the image from
// each of its corners. If it sees only the value outside of the image, that is the lowest double,
// and the original gives up the whole image.
bool SeesTheImageFromEveryCorner(const std::vector<Point>& checked_pixels);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_PADDLE_STAMP_H_
