// Draws a matrix as a picture with axes, ticks, a colour bar and a title.
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
  // What row i and column i are about, e.g. "[MAX"; empty = numbers only. Of at most 64, each is
  // named (below its column upright where all fit); of more, those at the ticks.
  std::vector<std::string> tokens = {};
};

// A PNG of at most about 1400 x 1300 pixels; row 0 is at the top. Colours run from 0 (or the
// smallest value, if that is negative) to the largest value or, where that is more than four times
// what nine in ten rows do not exceed, to this (the bar then says ">="). Matrices of more than 1024
// rows or columns are reduced: a pixel is then the mean of a square of entries. InvalidArgument for
// an empty matrix or one with a number that is not finite.
absl::StatusOr<std::string> HeatMapPng(const AttentionMap& map, const HeatMapLabels& labels);

namespace internal {

using Colour = std::array<uint8_t, 3>;

// A colour of Matplotlib's "viridis", from dark violet to yellow; t is clamped to [0, 1].
Colour ViridisColour(double t);

struct Canvas {
  Canvas(int width, int height)
      : width(width), height(height), rgb(size_t{3} * width * height, 255) {}
  // What lies outside of the canvas is cut off.
  void Fill(int x, int y, int w, int h, const Colour& colour);
  Colour At(int x, int y) const;

  int width, height;
  std::vector<uint8_t> rgb;  // [height, width, 3], white
};

// Draws black ASCII text with capitals 14 pixels high and its upper left corner at (x, y). With
// `upwards`, the text is turned by 90 degrees and its lower left corner is at (x, y).
int TextWidth(absl::string_view text);
constexpr int kTextHeight = 16;
void DrawText(Canvas* canvas, int x, int y, absl::string_view text, bool upwards = false);

// Multiples of 1, 2 or 5 times a power of ten from 0 to below n, at most `most` of them.
std::vector<int64_t> TickPositions(int64_t n, int most);
// Means of squares of `factor` x `factor` entries; the last squares may be smaller.
AttentionMap Reduce(const AttentionMap& map, int64_t factor);

struct DrawnHeatMap {
  Canvas canvas;
  int left, top, cell_pixels;  // position of entry (0, 0), and the size of an entry
};
DrawnHeatMap DrawHeatMap(const AttentionMap& map, const HeatMapLabels& labels);

}  // namespace internal
}  // namespace lra

#endif  // LRA_EVAL_HEAT_MAP_H_
