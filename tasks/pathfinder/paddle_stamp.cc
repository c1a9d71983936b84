#include "tasks/pathfinder/paddle_stamp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace lra::pathfinder {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) {  // b > 0
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

// A fraction rounded to the nearest integer. RoundOut rounds halves away from 0, and RoundIn
// towards 0.
int RoundOut(int64_t numerator, int64_t denominator) {
  const int64_t size = (2 * std::abs(numerator) + denominator) / (2 * denominator);
  return static_cast<int>(numerator < 0 ? -size : size);
}
int RoundIn(int64_t numerator, int64_t denominator) {
  const int64_t size = -FloorDivide(-(2 * std::abs(numerator) - denominator), 2 * denominator);
  return static_cast<int>(numerator < 0 ? -size : size);
}
int RoundIn(double value) {
  const double size = std::ceil(std::abs(value) - 0.5);
  return static_cast<int>(value < 0 ? -size : size);
}
int RoundOut(double value) {
  const double size = std::floor(std::abs(value) + 0.5);
  return static_cast<int>(value < 0 ? -size : size);
}

// Bresenham's line; the step aside comes after the pixel that makes the error 0 or more.
void DrawThinLine(Point from, Point to, int side, std::vector<uint8_t>* canvas) {
  const int dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
  const int sx = to.x < from.x ? -1 : 1, sy = to.y < from.y ? -1 : 1;
  const bool along_x = dx > dy;
  const int major = along_x ? dx : dy, minor = along_x ? dy : dx;
  int error = 2 * minor - major;
  Point p = from;
  for (int i = 0; i <= major; ++i) {
    (*canvas)[p.y * side + p.x] = 255;
    if (error >= 0) {
      (along_x ? p.y : p.x) += along_x ? sy : sx;
      error -= 2 * major;
    }
    error += 2 * minor;
    (along_x ? p.x : p.y) += along_x ? sx : sy;
  }
}

// The corners of a line of width >= 2. (The width minus 1 is split into halves that are rounded
// differently, so a line of even width lies to one side.)
std::array<Point, 4> LineCorners(Point from, Point to, int width) {
  const int dx = to.x - from.x, dy = to.y - from.y;
  const double length = std::sqrt(static_cast<double>(dx) * dx + static_cast<double>(dy) * dy);
  const int wider_half = width / 2, other_half = (width - 1) / 2;
  const double wide = wider_half / length, narrow = other_half / length;
  const int left = RoundIn(narrow * dy), right = RoundIn(wide * dy);
  const int down = RoundOut(wide * dx), up = RoundOut(narrow * dx);
  return {Point{from.y + down, from.x - left}, Point{to.y + down, to.x - left},
          Point{to.y - up, to.x + right}, Point{from.y - up, from.x + right}};
}

// Fills each row from the leftmost to the rightmost crossing with the edges, in integers.
void FillQuadrilateral(const std::array<Point, 4>& corners, int side,
                       std::vector<uint8_t>* canvas) {
  const auto [top, bottom] = std::minmax_element(corners.begin(), corners.end(),
                                                 [](Point a, Point b) { return a.y < b.y; });
  for (int y = top->y; y <= bottom->y; ++y) {
    int left = side, right = -1;
    for (int i = 0; i < 4; ++i) {
      Point a = corners[i], b = corners[(i + 1) % 4];
      if (a.y > b.y) std::swap(a, b);
      if (y < a.y || y > b.y) continue;
      if (a.y == b.y) {
        left = std::min({left, a.x, b.x}), right = std::max({right, a.x, b.x});
        continue;
      }
      const int64_t rows = b.y - a.y, crossing = a.x * rows + int64_t{y - a.y} * (b.x - a.x);
      left = std::min(left, RoundOut(crossing, rows));
      right = std::max(right, RoundIn(crossing, rows));
    }
    for (int x = left; x <= right; ++x) (*canvas)[y * side + x] = 255;
  }
}

}  // namespace

int PaddleShape::HalfSide() const {
  return length_pixels + static_cast<int>(std::ceil(thickness_pixels)) + margin_pixels;
}

void DrawLine(Point from, Point to, int width, int side, std::vector<uint8_t>* canvas) {
  if (width <= 1 || from == to) return DrawThinLine(from, to, side, canvas);
  FillQuadrilateral(LineCorners(from, to, width), side, canvas);
}

std::vector<uint8_t> DilateByDisc(const std::vector<uint8_t>& image, int side, int radius) {
  std::vector<uint8_t> dilated(image.size(), 0);
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      if (dy * dy + dx * dx > radius * radius) continue;
      for (int y = std::max(0, -dy); y < std::min(side, side - dy); ++y) {
        for (int x = std::max(0, -dx); x < std::min(side, side - dx); ++x) {
          uint8_t& to = dilated[y * side + x];
          to = std::max(to, image[(y + dy) * side + x + dx]);
        }
      }
    }
  }
  return dilated;
}

PaddlePainter::PaddlePainter(const PaddleShape& shape)
    : shape_(shape),
      filter_(2 * shape.HalfSide() * shape.antialias_scale + 1, 2 * shape.HalfSide() + 1) {}

PaddleStamp PaddlePainter::Paint(double angle_rad) const {
  const int scale = shape_.antialias_scale, large = filter_.in_samples();
  const Point centre{large / 2, large / 2};
  std::vector<uint8_t> canvas(static_cast<size_t>(large) * large, 0);
  DrawLine(centre, MakeStep(angle_rad, shape_.length_pixels * scale).From(centre),
           static_cast<int>(std::lround(shape_.thickness_pixels * scale)), large, &canvas);
  return {filter_.out_samples(), ShrinkImage(canvas, filter_),
          ShrinkImage(DilateByDisc(canvas, large, shape_.margin_pixels * scale), filter_)};
}

std::vector<Point> CheckedPixels(const PaddleStamp& stamp, int reach) {
  const int half = stamp.side / 2;
  std::vector<Point> pixels;
  for (int dy = -reach; dy <= reach; ++dy) {
    for (int dx = -reach; dx <= reach; ++dx) {
      const int y = half + dy - 1, x = half + dx - 1;
      if (y < 0 || x < 0) continue;
      if (stamp.mask[y * stamp.side + x] == 255) pixels.push_back({dy, dx});
    }
  }
  return pixels;
}

bool SeesTheImageFromEveryCorner(const std::vector<Point>& checked_pixels) {
  const auto sees = [&](int down, int right) {
    return std::any_of(checked_pixels.begin(), checked_pixels.end(),
                       [&](Point p) { return p.y * down >= 0 && p.x * right >= 0; });
  };
  return sees(1, 1) && sees(1, -1) && sees(-1, 1) && sees(-1, -1);
}

}  // namespace lra::pathfinder
