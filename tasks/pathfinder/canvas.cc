#include "tasks/pathfinder/canvas.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lra::pathfinder {
namespace {

const std::array<double, 256>& Fractions() {
  static const std::array<double, 256> fractions = [] {
    std::array<double, 256> values;
    for (int byte = 0; byte < 256; ++byte) values[byte] = byte / 255.0;
    return values;
  }();
  return fractions;
}

}  // namespace

Canvas::Canvas(int side_pixels)
    : side_(side_pixels), values_(static_cast<size_t>(side_pixels) * side_pixels, 0.0) {}

template <class Brightness>
void Canvas::Draw(const uint8_t* coverage, int rows, int columns, Point corner,
                  Brightness brightness) {
  const int first_row = std::max(0, -corner.y), end_row = std::min(rows, side_ - corner.y);
  const int first = std::max(0, -corner.x), end = std::min(columns, side_ - corner.x);
  for (int row = first_row; row < end_row; ++row) {
    double* to = values_.data() + static_cast<ptrdiff_t>(corner.y + row) * side_ + corner.x;
    const uint8_t* from = coverage + static_cast<size_t>(row) * columns;
    for (int x = first; x < end; ++x) to[x] = std::max(to[x], brightness(from[x]));
  }
}

void Canvas::DrawPaddle(const uint8_t* coverage, int rows, int columns, Point corner,
                        double contrast) {
  const std::array<double, 256>& fractions = Fractions();
  Draw(coverage, rows, columns, corner,
       [&](uint8_t byte) -> double { return static_cast<float>(fractions[byte] * contrast); });
}

void Canvas::DrawMarker(const uint8_t* coverage, int rows, int columns, Point corner) {
  const std::array<double, 256>& fractions = Fractions();
  Draw(coverage, rows, columns, corner, [&](uint8_t byte) { return fractions[byte]; });
}

void Canvas::Stretch(std::vector<uint8_t>* pixels) const {
  const auto [least, greatest] = std::minmax_element(values_.begin(), values_.end());
  const double low = *least, range = *greatest - low;
  const double scale = range > 0 ? 255 / range : 0;
  pixels->resize(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const double byte = (values_[i] - low) * scale;
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): the original's rounding
    (*pixels)[i] = static_cast<uint8_t>(static_cast<int>(byte + 0.5));
  }
}

}  // namespace lra::pathfinder
