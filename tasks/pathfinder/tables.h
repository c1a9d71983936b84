// Tables for placing paddles of one margin, as far as they do not depend on the image: pictures of
// paddles, turn weights, first paddles. They are made once and read by all threads.
#ifndef LRA_TASKS_PATHFINDER_TABLES_H_
#define LRA_TASKS_PATHFINDER_TABLES_H_

#include <cstdint>
#include <vector>

#include "tasks/pathfinder/chunk.h"
#include "tasks/pathfinder/geometry.h"
#include "tasks/pathfinder/paddle_stamp.h"
#include "tasks/pathfinder/pathfinder.pb.h"

namespace lra::pathfinder {

// How a plane of bytes over the image lies in memory. It is padded on all sides, so that paddles
// and circles may stick out, and a chunk beyond its end is readable.
struct PlaneLayout {
  int side = 0, padding = 0, stride = 0, bytes = 0;

  PlaneLayout() = default;
  PlaneLayout(int side_pixels, int padding_pixels);
  int IndexOf(Point p) const { return (p.y + padding) * stride + p.x + padding; }
  int ShiftOf(Point offset) const { return offset.y * stride + offset.x; }
  bool Contains(Point p) const {
    return static_cast<unsigned>(p.y) < static_cast<unsigned>(side) &&
           static_cast<unsigned>(p.x) < static_cast<unsigned>(side);
  }
};

// The non-empty rectangle of a small picture, in rows of whole chunks.
struct Picture {
  Point corner;  // upper left pixel, relative to the picture's centre
  int rows = 0, chunks = 0;
  std::vector<uint8_t> bytes;
};

struct Paddle {
  Picture line;    // coverage
  Picture mask;    // claimed space
  Picture spread;  // the mask dilated by the margin
  // Another mask collides where its value is above this (255: nowhere).
  Picture limits;
  // The pixels that a first paddle needs free, relative to its tail, and the box around them.
  std::vector<Point> checked;
  Point checked_low, checked_high;
  // Tails whose checked pixels are all outside of the image. With border_artifact no first paddle
  // has any.
  std::vector<Point> unchecked_tails;
};

// A paddle that begins a contour, in a direction of whole degrees.
struct FirstPaddle {
  int paddle = 0;       // index in MarginTables::paddles
  bool usable = false;  // with border_artifact, SeesTheImageFromEveryCorner
  Step head, pivot;     // from tail to head, and from head to pivot
};

// A later paddle, by where its head is around the pivot.
struct NextPaddle {
  Point offset;
  int paddle = 0;  // index in MarginTables::paddles; drawn from the head backwards
};

// A possible turn; weights are multiples of 2^-16.
struct Turn {
  int shift = 0;  // PlaneLayout::ShiftOf(offset)
  uint32_t weight = 0;
  int next = 0;  // index in MarginTables::next
};

struct Displacement {
  double y = 0, x = 0;
};

struct MarginTables {
  // Directions are numbered: first paddles 0 .. 359 (degrees + 180), then next paddles.
  static constexpr int kFirstPaddles = 360;
  static constexpr uint32_t kTurnUnit = 1 << 16;

  // The options must be resolved.
  MarginTables(const PathfinderOptions& options, int margin_pixels);

  PlaneLayout layout;
  int margin_pixels = 0;
  std::vector<Paddle> paddles;  // all different
  std::vector<FirstPaddle> first;
  std::vector<NextPaddle> next;
  // For each direction, its angle and the step from the pivot to that of the next paddle.
  std::vector<double> angles_rad;
  std::vector<Step> advance;
  std::vector<Turn> turns;  // those after direction d are turn_begin[d] .. turn_begin[d + 1]
  std::vector<int> turn_begin;
  // The displacement from the first tail of contour 0 to that of contour 1 for degrees 0 .. 359;
  // the sum is rounded to the nearest pixel, halves to even ones.
  std::vector<Displacement> seed_circle;
  // Mask and dilated mask of an image without contours, in `layout`. Outside of the image the mask
  // is 0 (nothing collides there) and the dilated mask 255 (no head goes there).
  std::vector<uint8_t> empty_mask, empty_spread;
  // One row of `layout`: 255 for columns of the image, 0 for padding.
  std::vector<uint8_t> inside;

 private:
  int AddPaddle(const PaddlePainter& painter, int sum_limit, double angle_rad);
  void AddFirstPaddles(const PaddlePainter& painter, int sum_limit, bool border_artifact);
  void AddNextPaddles(const PaddlePainter& painter, int sum_limit);
  void AddUncheckedTails();
  void AddTurns(double continuity, double step_pixels);
  void AddSeedCircle(double radius_pixels);
  void AddEmptyPlanes(int padding_pixels);
  std::vector<PaddleStamp> stamps_;  // for `paddles`, while they are made
};

// cos^2 of the turn times the continuity, 0 from a right angle on, as a multiple of 2^-16.
uint32_t TurnWeight(double turn_rad, double continuity);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_TABLES_H_
