// Recomputes the label of a Pathfinder image from its pixels and the ends of its contours by
// looking for the two discs. Written from the definition of a disc; shares no code with the
// generator except the type of the ends.
#ifndef LRA_TASKS_PATHFINDER_ORACLE_H_
#define LRA_TASKS_PATHFINDER_ORACLE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tasks/pathfinder/tip.h"

namespace lra::pathfinder {

// Immutable; safe for concurrent use.
class MarkerOracle {
 public:
  // The side of the images, and radius and scale of the discs (marker_radius_pixels,
  // antialias_scale).
  MarkerOracle(int side_pixels, double marker_radius_pixels, int antialias_scale);

  // 1 if the discs are at the ends of one contour, 0 if at ends of two; nullopt if nobody can tell
  // because both contours end on one pixel. `pixels` are side^2 bytes, row-major; tips are inside
  // the image.
  std::optional<int> Label(absl::Span<const uint8_t> pixels, const ContourTips& tips) const;

 private:
  std::optional<int> Marked(absl::Span<const uint8_t> pixels, const std::array<Tip, 2>& ends) const;
  double DiscStrength(absl::Span<const uint8_t> pixels, Tip tip) const;

  int side_, scale_, reach_;
  std::vector<int> half_widths_;  // of the enlarged disc, by row, starting at its middle row
  // sums_[out][i] is what enlarged pixels below i contribute to finished pixel `out`, along one
  // axis.
  std::vector<std::vector<double>> sums_;
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_ORACLE_H_
