#include "tasks/pathfinder/canvas.h"

#include <algorithm>

namespace lra::pathfinder {

Canvas::Canvas(int side_pixels)
    : side_(side_pixels), values_(static_cast<size_t>(side_pixels) * side_pixels, 0.0) {}

void Canvas::Draw(const uint8_t* coverage, int rows, int columns, Point corner, double contrast) {
  const int first_row = std::max(0, -corner.y), end_row = std::min(rows, side_ - corner.y);
  const int first = std::max(0, -corner.x), end = std::min(columns, side_ - corner.x);
  for (int row = first_row; row < end_row; ++row) {
    double* to = &values_[static_cast<size_t>(corner.y + row) * side_] + corner.x;
    const uint8_t* from = coverage + static_cast<size_t>(row) * columns;
    for (int x = first; x < end; ++x) to[x] = std::max(to[x], from[x] * contrast);
  }
}

void Canvas::Stretch(std::vector<uint8_t>* pixels) const {
  const auto [least, greatest] = std::minmax_element(values_.begin(), values_.end());
  const double low = *least, range = *greatest > low ? *greatest - low : 1;
  pixels->resize(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    (*pixels)[i] = static_cast<uint8_t>(static_cast<int>(255 * (values_[i] - low) / range + 0.5));
  }
}

}  // namespace lra::pathfinder
