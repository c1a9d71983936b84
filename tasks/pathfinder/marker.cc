#include "tasks/pathfinder/marker.h"

#include <cmath>

#include "tasks/pathfinder/lanczos.h"

namespace lra::pathfinder {
namespace {

// How far the filter reaches, in pixels of the finished image.
constexpr int kFilterReach = 4;

// Paints one picture. `narrow` holds the canvas rows of the disc after the filter's pass along the
// rows.
class Painter {
 public:
  Painter(int side, double radius, int scale, int reach)
      : side_(side), scale_(scale), reach_(reach), filter_(side * scale, side) {
    const double canvas_radius = radius * scale;
    for (int dy = 0; dy <= canvas_radius; ++dy) {
      half_widths_.push_back(static_cast<int>(
          std::sqrt(canvas_radius * canvas_radius - static_cast<double>(dy) * dy)));
    }
  }

  void Paint(Point tip, uint8_t* picture) const {
    const int tall = static_cast<int>(half_widths_.size()) - 1, first_row = tip.y * scale_ - tall;
    const int width = 2 * reach_ + 1;
    std::vector<uint8_t> narrow(static_cast<size_t>(2 * tall + 1) * width, 0);
    for (int row = 0; row <= 2 * tall; ++row) {
      const int half_width = half_widths_[std::abs(row - tall)];
      for (int x = 0; x < width; ++x) {
        narrow[row * width + x] = Filtered(tip.x - reach_ + x, [&](int column) {
          return std::abs(column - tip.x * scale_) <= half_width ? 255 : 0;
        });
      }
    }
    for (int y = 0; y < width; ++y) {
      for (int x = 0; x < width; ++x) {
        *picture++ = Filtered(tip.y - reach_ + y, [&](int row) -> int {
          const int i = row - first_row;
          return i < 0 || i > 2 * tall ? 0 : narrow[i * width + x];
        });
      }
    }
  }

 private:
  template <class Sample>
  uint8_t Filtered(int out, Sample sample) const {
    if (out < 0 || out >= side_) return 0;
    const LanczosFilter::Taps& taps = filter_.taps(out);
    int64_t sum = 0;
    for (size_t t = 0; t < taps.weights.size(); ++t) {
      sum += int64_t{taps.weights[t]} * sample(taps.first + static_cast<int>(t));
    }
    return LanczosFilter::ToByte(sum);
  }

  int side_, scale_, reach_;
  LanczosFilter filter_;
  std::vector<int> half_widths_;  // of the disc, by the distance of a canvas row from its middle
};

}  // namespace

MarkerPictures::MarkerPictures(int side_pixels, double radius_pixels, int antialias_scale)
    : side_(side_pixels),
      reach_(static_cast<int>(std::ceil(radius_pixels)) + kFilterReach),
      // Pixels nearer to a border than the filter's reach have weights of their own.
      border_(reach_ + kFilterReach) {
  const bool all_different = side_ < 2 * border_ + 1;
  if (all_different) border_ = side_;
  classes_ = all_different ? side_ : 2 * border_ + 1;
  const Painter painter(side_pixels, radius_pixels, antialias_scale, reach_);
  bytes_.resize(static_cast<size_t>(classes_) * classes_ * PictureBytes());
  // A coordinate of each class; classes after the middle one count from the far border.
  const auto example = [&](int c) { return c <= border_ ? c : side_ - classes_ + c; };
  for (int y = 0; y < classes_; ++y) {
    for (int x = 0; x < classes_; ++x) {
      painter.Paint({example(y), example(x)},
                    &bytes_[static_cast<size_t>(y * classes_ + x) * PictureBytes()]);
    }
  }
}

int MarkerPictures::ClassOf(int coordinate) const {
  if (coordinate < border_) return coordinate;
  const int from_end = coordinate - (side_ - classes_);
  return from_end > border_ ? from_end : border_;
}

}  // namespace lra::pathfinder
