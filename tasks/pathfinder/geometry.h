// Points, angles and steps of the Pathfinder generator. Coordinates are pixels, (y, x), y down, the
// origin at the top left; the direction of an angle T (radians) is (sin T, cos T).
// Source: drewlinsley/pathfinder (MIT), commit ab9c130, snakes.py and snakes2.py.
#ifndef LRA_TASKS_PATHFINDER_GEOMETRY_H_
#define LRA_TASKS_PATHFINDER_GEOMETRY_H_

#include <vector>

namespace lra::pathfinder {

struct Point {
  int y = 0, x = 0;
  friend bool operator==(const Point&, const Point&) = default;
  friend Point operator+(Point a, Point b) { return {a.y + b.y, a.x + b.x}; }
};

// As the original computes it, rounding included: (degrees * pi) / 180.
double Radians(int degrees);
// The angle plus or minus pi; in [-pi, pi).
double Opposite(double angle_rad);
// The smaller angle between two directions given in [-pi, pi]; in [0, pi].
double TurnBetween(double angle_rad, double other_rad);

// p -> ceil(p + displacement) of one coordinate, evaluated in doubles like the original's: when the
// displacement is whole but for a rounding error above it, small coordinates go one pixel further
// while larger ones swallow the error.
struct AxisStep {
  int pixels = 0;
  int further_below = 0;  // coordinates below this go pixels + 1

  int From(int p) const { return p + pixels + (p < further_below ? 1 : 0); }
};
AxisStep MakeAxisStep(double displacement_pixels);

// Both coordinates round up, so every step drifts by half a pixel down and right; the original's
// images have this drift.
struct Step {
  AxisStep y, x;
  Point From(Point p) const { return {y.From(p.y), x.From(p.x)}; }
};
Step MakeStep(double angle_rad, double distance_pixels);

// Where the next paddle's head can be, relative to the pivot: the circle of this radius, rounded
// down (which leans to the upper left), without repetitions.
std::vector<Point> HeadOffsets(int radius_pixels);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_GEOMETRY_H_
