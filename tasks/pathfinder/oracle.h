// Recomputes the label of a Pathfinder image from its pixels and the ends of its contours: looks
// for the two discs. Written from the definition of a disc; shares nothing with the generator but
// the type of the ends.
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
  // Of the images: side, and radius and scale of the discs (marker_radius_pixels,
  // antialias_scale).
  MarkerOracle(int side_pixels, double marker_radius_pixels, int antialias_scale);

  // 1 if the discs are on the ends of one contour, 0 if on those of two; nullopt if nobody can
  // tell: both contours end on one pixel. `pixels` are side^2 bytes, row-major; tips are inside.
  std::optional<int> Label(absl::Span<const uint8_t> pixels, const ContourTips& tips) const;

 private:
  std::optional<int> Marked(absl::Span<const uint8_t> pixels, const std::array<Tip, 2>& ends) const;
  double DiscStrength(absl::Span<const uint8_t> pixels, Tip tip) const;

  int side_, scale_, reach_;
  std::vector<int> half_widths_;  // of the enlarged disc, by row, from its middle row on
  // sums_[out][i]: what enlarged pixels below i contribute to finished pixel `out`, along one axis.
  std::vector<std::vector<double>> sums_;
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_ORACLE_H_
