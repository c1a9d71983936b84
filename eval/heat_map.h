// A matrix as a picture: axes with ticks, a colour bar, a title.
#ifndef LRA_EVAL_HEAT_MAP_H_
#define LRA_EVAL_HEAT_MAP_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/attention_map.h"

namespace lra {

struct HeatMapLabels {
  std::string title;
  std::string rows = "query", columns = "key";
};

// A PNG of at most about 1300 x 1200 pixels; row 0 is at the top. Colours run from 0, or the
// smallest value where that is negative, to the largest. Matrices of more than 1024 rows or columns
// are reduced: a pixel is the mean of a square of entries. InvalidArgument for an empty matrix or
// one that holds a number that is not finite.
absl::StatusOr<std::string> HeatMapPng(const AttentionMap& map, const HeatMapLabels& labels);

namespace internal {

using Colour = std::array<uint8_t, 3>;

// Colours of equal steps, dark violet to yellow ("viridis" of Matplotlib); t is cut to [0, 1].
Colour ViridisColour(double t);

struct Canvas {
  Canvas(int width, int height)
      : width(width), height(height), rgb(size_t{3} * width * height, 255) {}
  // What lies outside is left out.
  void Fill(int x, int y, int w, int h, const Colour& colour);
  Colour At(int x, int y) const;

  int width, height;
  std::vector<uint8_t> rgb;  // [height, width, 3], white
};

// Black ASCII text, capitals 14 pixels high, its upper left corner at (x, y); `upwards` turns it by
// 90 degrees: its lower left corner is then at (x, y).
int TextWidth(absl::string_view text);
constexpr int kTextHeight = 16;
void DrawText(Canvas* canvas, int x, int y, absl::string_view text, bool upwards = false);

// Steps of 1, 2 or 5 times a power of ten from 0 to below n, at most `most` of them.
std::vector<int64_t> TickPositions(int64_t n, int most);
// Means of squares of `factor` x `factor` entries; the last ones may be smaller.
AttentionMap Reduce(const AttentionMap& map, int64_t factor);

struct DrawnHeatMap {
  Canvas canvas;
  int left, top, cell_pixels;  // of entry (0, 0)
};
DrawnHeatMap DrawHeatMap(const AttentionMap& map, const HeatMapLabels& labels);

}  // namespace internal
}  // namespace lra

#endif  // LRA_EVAL_HEAT_MAP_H_
