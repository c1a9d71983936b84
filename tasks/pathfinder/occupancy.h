// Records which pixels of an image are taken: the mask of all paddles so far, one byte (0 .. 255) a
// pixel.
#ifndef LRA_TASKS_PATHFINDER_OCCUPANCY_H_
#define LRA_TASKS_PATHFINDER_OCCUPANCY_H_

#include <climits>
#include <cstdint>
#include <vector>

#include "tasks/pathfinder/tables.h"

namespace lra::pathfinder {

// Holds the dilated mask beside the mask. Both are maxima, so adding a paddle to the mask means
// adding the dilated paddle to the dilated mask. What was added since the last Commit can be
// undone. Not thread-safe.
class Occupancy {
 public:
  // Keeps a reference to `tables`.
  explicit Occupancy(const MarginTables& tables);

  // Whether the paddle's mask and that of the image add up to the limit anywhere.
  bool Collides(const Paddle& paddle, Point at) const;
  // `at` must be inside the image.
  void Add(const Paddle& paddle, Point at);
  void Commit();
  void Rollback();

  uint8_t MaskAt(Point p) const { return mask_[tables_.layout.IndexOf(p)]; }
  // The dilated mask, to be read at PlaneLayout::ShiftOf(offset) around p; 255 outside of the
  // image.
  const uint8_t* SpreadAt(Point p) const { return spread_ + tables_.layout.IndexOf(p); }
  // The number of pixels of the image whose mask is at most `free_byte`.
  int64_t CountFree(int free_byte) const;
  // Row y of the mask from column 0 on; padding() more pixels on both sides are readable.
  const uint8_t* MaskRow(int y) const { return mask_ + tables_.layout.IndexOf({y, 0}); }

 private:
  void AddToMask(const Picture& claimed, Point corner);
  void AddToSpread(const Picture& spread, Point corner);
  void CopyChangedRows(const uint8_t* from_mask, const uint8_t* from_spread, uint8_t* to_mask,
                       uint8_t* to_spread);

  const MarginTables& tables_;
  std::vector<uint8_t> planes_;  // mask, dilated mask, and both as they were at the last Commit
  uint8_t *mask_, *spread_, *saved_mask_, *saved_spread_;
  // The rows of the planes that changed since the last Commit.
  int first_changed_row_ = INT_MAX, end_changed_row_ = 0;
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_OCCUPANCY_H_
