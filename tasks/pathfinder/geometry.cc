#include "tasks/pathfinder/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tasks/pathfinder/exact_trig.h"

namespace lra::pathfinder {

double Radians(int degrees) { return degrees * std::numbers::pi / 180; }

double Opposite(double angle_rad) {
  constexpr double kPi = std::numbers::pi;
  return angle_rad + kPi < kPi ? angle_rad + kPi : angle_rad - kPi;
}

double TurnBetween(double angle_rad, double other_rad) {
  const double difference = std::abs(angle_rad - other_rad);
  return std::min(difference, 2 * std::numbers::pi - difference);
}

AxisStep MakeAxisStep(double displacement_pixels) {
  // Larger than any image side, so that rounding errors vanish in it.
  constexpr int kFar = 1 << 20;
  const auto step_from = [&](int p) {
    return static_cast<int>(std::ceil(p + displacement_pixels)) - p;
  };
  AxisStep step{step_from(kFar), 0};
  // An error of some 1e-15 vanishes from 16 or 32 on.
  for (int p = 0; p < 1024; ++p) {
    if (step_from(p) > step.pixels) step.further_below = p + 1;
  }
  return step;
}

Step MakeStep(double angle_rad, double distance_pixels) {
  return {MakeAxisStep(distance_pixels * ExactSin(angle_rad)),
          MakeAxisStep(distance_pixels * ExactCos(angle_rad))};
}

std::vector<Point> HeadOffsets(int radius_pixels) {
  std::vector<Point> offsets;
  const double radius = radius_pixels;
  const int count = static_cast<int>(std::ceil(2 * std::numbers::pi * radius));
  for (int k = 0; k < count; ++k) {
    const double angle = k / radius;
    const Point offset{static_cast<int>(std::floor(radius * ExactSin(angle))),
                       static_cast<int>(std::floor(radius * ExactCos(angle)))};
    if (std::find(offsets.begin(), offsets.end(), offset) == offsets.end()) {
      offsets.push_back(offset);
    }
  }
  return offsets;
}

}  // namespace lra::pathfinder
