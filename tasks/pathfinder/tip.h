// Ends of contours, as they are stored beside an image.
#ifndef LRA_TASKS_PATHFINDER_TIP_H_
#define LRA_TASKS_PATHFINDER_TIP_H_

#include <array>
#include <cstdint>

namespace lra::pathfinder {

// A pixel inside the image.
struct Tip {
  int16_t y = 0, x = 0;
  friend bool operator==(const Tip&, const Tip&) = default;
};

// Where contours 0 and 1 begin, and where they end.
struct ContourTips {
  std::array<Tip, 2> origins, terminals;
  friend bool operator==(const ContourTips&, const ContourTips&) = default;
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_TIP_H_
