// Points, angles and steps of the Pathfinder generator. Coordinates are pixels (y, x) with y
// downwards and the origin at the top left; the direction of an angle T in radians is (sin T, cos
// T). Source: drewlinsley/pathfinder (MIT), commit ab9c130, snakes.py and snakes2.py.
#ifndef LRA_TASKS_PATHFINDER_GEOMETRY_H_
#define LRA_TASKS_PATHFINDER_GEOMETRY_H_

#include <vector>

namespace lra::pathfinder {

struct Point {
  int y = 0, x = 0;
  friend bool operator==(const Point&, const Point&) = default;
  friend Point operator+(Point a, Point b) { return {a.y + b.y, a.x + b.x}; }
};

// Computed as the original does, with its rounding: (degrees * pi) / 180.
double Radians(int degrees);
// The angle plus or minus pi, in [-pi, pi).
double Opposite(double angle_rad);
// The smaller angle between two directions given in [-pi, pi], in [0, pi].
double TurnBetween(double angle_rad, double other_rad);

// Computes p -> ceil(p + displacement) of one coordinate in doubles, as the original does. If the
// displacement is an integer plus a rounding error, small coordinates go one pixel further, while
// larger ones absorb the error.
struct AxisStep {
  int pixels = 0;
  int further_below = 0;  // coordinates below this go pixels + 1

  int From(int p) const { return p + pixels + (p < further_below ? 1 : 0); }
};
AxisStep MakeAxisStep(double displacement_pixels);

// Both coordinates are rounded up, so every step drifts by half a pixel down and right, as it does
// in the original's images.
struct Step {
  AxisStep y, x;
  Point From(Point p) const { return {y.From(p.y), x.From(p.x)}; }
};
Step MakeStep(double angle_rad, double distance_pixels);

// Where the next paddle's head can be, relative to the pivot: the circle of this radius, rounded
// down (towards the upper left), without repetitions.
std::vector<Point> HeadOffsets(int radius_pixels);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_GEOMETRY_H_
