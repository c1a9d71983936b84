// Numbers that describe a grey image, for the statistics tests of this folder.
#ifndef LRA_TASKS_PATHFINDER_IMAGE_STATISTICS_TEST_UTIL_H_
#define LRA_TASKS_PATHFINDER_IMAGE_STATISTICS_TEST_UTIL_H_

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lra::pathfinder {

// From a name to one value for each image.
using Columns = std::map<std::string, std::vector<double>>;

// The number of regions of pixels with value `least` or more that touch at sides or corners.
inline int CountComponents(const std::vector<uint8_t>& pixels, int side, int least) {
  std::vector<char> is_open(pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) is_open[i] = pixels[i] >= least;
  std::vector<int> stack;
  int components = 0;
  for (int start = 0; start < side * side; ++start) {
    if (!is_open[start]) continue;
    ++components;
    is_open[start] = 0;
    stack.push_back(start);
    while (!stack.empty()) {
      const int y = stack.back() / side, x = stack.back() % side;
      stack.pop_back();
      for (int ny = std::max(0, y - 1); ny <= std::min(side - 1, y + 1); ++ny) {
        for (int nx = std::max(0, x - 1); nx <= std::min(side - 1, x + 1); ++nx) {
          if (!is_open[ny * side + nx]) continue;
          is_open[ny * side + nx] = 0;
          stack.push_back(ny * side + nx);
        }
      }
    }
  }
  return components;
}

inline void AppendImageStatistics(const std::vector<uint8_t>& pixels, int side, Columns* columns) {
  double sum = 0, squares = 0, lit = 0, bright = 0, half = 0;
  for (const uint8_t pixel : pixels) {
    sum += pixel;
    squares += static_cast<double>(pixel) * pixel;
    lit += pixel > 0;
    bright += pixel >= 64;
    half += pixel >= 128;
  }
  const double count = static_cast<double>(pixels.size()), mean = sum / count;
  (*columns)["pixel_mean"].push_back(mean);
  (*columns)["pixel_std"].push_back(std::sqrt(squares / count - mean * mean));
  (*columns)["lit_gt0"].push_back(lit / count);
  (*columns)["lit_ge64"].push_back(bright / count);
  (*columns)["lit_ge128"].push_back(half / count);
  (*columns)["components_ge64"].push_back(CountComponents(pixels, side, 64));
  (*columns)["components_ge128"].push_back(CountComponents(pixels, side, 128));
}

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_IMAGE_STATISTICS_TEST_UTIL_H_
