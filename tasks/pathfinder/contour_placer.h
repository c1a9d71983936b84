// Places the paddles of one image: two target contours that grow side by side, then distractors.
// Source: drewlinsley/pathfinder (MIT), commit ab9c130, snakes2.py.
#ifndef LRA_TASKS_PATHFINDER_CONTOUR_PLACER_H_
#define LRA_TASKS_PATHFINDER_CONTOUR_PLACER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lra/random.h"
#include "tasks/pathfinder/occupancy.h"
#include "tasks/pathfinder/pathfinder.pb.h"
#include "tasks/pathfinder/tables.h"

namespace lra::pathfinder {

struct PlacedPaddle {
  const Paddle* paddle;
  Point at;
  double contrast;
  int direction;  // index of a direction in MarginTables
};

// For one image and one thread. The result depends on the options, the tables and the stream only.
class ContourPlacer {
 public:
  // Keeps references to all three. The options are resolved, and the tables were made from them.
  ContourPlacer(const PathfinderOptions& options, const MarginTables& tables, RandomStream* random);

  // Tries once to place both target contours on an empty image; call it until it returns true.
  bool TryTargets();
  // Tries once to place one distractor, after the targets.
  bool TryDistractor();

  // Where the first paddle of target 0 or 1 begins, and where its last one ends.
  Point origin(int target) const { return targets_[target].origin; }
  Point terminal(int target) const { return targets_[target].head; }
  // The target paddles, alternating (0, 1, 0, 1, ...), then those of the distractors.
  const std::vector<PlacedPaddle>& placed() const { return placed_; }
  const Occupancy& occupancy() const { return occupancy_; }

 private:
  struct Contour {
    Point origin, head, pivot;
    int direction = 0;
    // The latest paddle. It is not yet in the occupancy mask, so that the next one may touch it.
    const Paddle* latest = nullptr;
    Point latest_at;
  };

  bool PlaceTargets();
  bool PlaceDistractor();
  std::array<double, 2> DrawTargetContrasts();
  double DrawFrom(const std::vector<double>& values);

  bool BeginInMiddle(double contrast, Contour* contour);
  bool BeginNear(Point other_origin, double contrast, Contour* contour);
  bool BeginAnywhere(double contrast, Contour* contour);
  // Places the first paddle of a contour; returns false if its tail, head or pivot is outside of
  // the image. (Tails outside occur without border_artifact only.)
  bool Begin(int direction, Point tail, double contrast, Contour* contour);
  bool Extend(double contrast, Contour* contour);

  // Draws a pixel at which the paddle may begin, in the middle or anywhere; all such pixels are
  // equally probable.
  std::optional<Point> DrawMiddleTail(const FirstPaddle& first);
  std::optional<Point> DrawFreeTail(const FirstPaddle& first);
  bool IsFreeTail(const Paddle& paddle, Point tail) const;
  void ListFreeTails(const Paddle& paddle);

  const PathfinderOptions& options_;
  const MarginTables& tables_;
  RandomStream* const random_;
  const std::vector<double> contour_contrasts_, paddle_contrasts_;
  const int free_byte_;  // a mask byte up to this value is free
  Occupancy occupancy_;
  std::array<Contour, 2> targets_;
  std::vector<PlacedPaddle> placed_;
  std::vector<uint8_t> worst_;   // a row of maxima over checked pixels
  std::vector<int> free_tails_;  // y * side + x
  std::optional<int64_t> free_pixels_;
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_CONTOUR_PLACER_H_
