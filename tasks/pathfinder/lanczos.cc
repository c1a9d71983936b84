#include "tasks/pathfinder/lanczos.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "lra/check.h"
#include "tasks/pathfinder/exact_trig.h"

namespace lra::pathfinder {
namespace {

constexpr int kLobes = 3;
constexpr int kWeightBits = 22;

double Sinc(double x) {
  return x == 0 ? 1.0 : ExactSin(std::numbers::pi * x) / (std::numbers::pi * x);
}

double Kernel(double x) { return x >= -kLobes && x < kLobes ? Sinc(x) * Sinc(x / kLobes) : 0.0; }

LanczosFilter::Taps MakeTaps(int in_samples, int out_samples, int out) {
  const double scale = static_cast<double>(in_samples) / out_samples;
  const double centre = (out + 0.5) * scale, reach = kLobes * scale;
  const int first = std::max(0, static_cast<int>(std::lround(centre - reach)));
  const int end = std::min(in_samples, static_cast<int>(std::lround(centre + reach)));
  std::vector<double> values;
  for (int i = first; i < end; ++i) values.push_back(Kernel((i - centre + 0.5) * (1 / scale)));
  const double inverse = 1 / std::accumulate(values.begin(), values.end(), 0.0);
  LanczosFilter::Taps taps{first, {}};
  for (double value : values) {
    taps.weights.push_back(static_cast<int32_t>(std::lround(value * inverse * (1 << kWeightBits))));
  }
  return taps;
}

}  // namespace

LanczosFilter::LanczosFilter(int in_samples, int out_samples) : in_samples_(in_samples) {
  LRA_CHECK(out_samples >= 1 && out_samples <= in_samples) << in_samples << " " << out_samples;
  for (int out = 0; out < out_samples; ++out) {
    taps_.push_back(MakeTaps(in_samples, out_samples, out));
  }
}

uint8_t LanczosFilter::ToByte(int64_t sum) {
  return static_cast<uint8_t>(
      std::clamp<int64_t>((sum + (1 << (kWeightBits - 1))) >> kWeightBits, 0, 255));
}

std::vector<uint8_t> ShrinkImage(const std::vector<uint8_t>& image, const LanczosFilter& filter) {
  const int in_side = filter.in_samples(), out_side = filter.out_samples();
  const auto shrink_line = [&](const uint8_t* line, int sample_stride, int out) {
    const LanczosFilter::Taps& taps = filter.taps(out);
    int64_t sum = 0;
    for (size_t t = 0; t < taps.weights.size(); ++t) {
      sum += int64_t{taps.weights[t]} * line[(taps.first + t) * sample_stride];
    }
    return LanczosFilter::ToByte(sum);
  };
  std::vector<uint8_t> narrow(static_cast<size_t>(in_side) * out_side);
  for (int y = 0; y < in_side; ++y) {
    for (int x = 0; x < out_side; ++x) {
      narrow[y * out_side + x] = shrink_line(&image[static_cast<size_t>(y) * in_side], 1, x);
    }
  }
  std::vector<uint8_t> small(static_cast<size_t>(out_side) * out_side);
  for (int y = 0; y < out_side; ++y) {
    for (int x = 0; x < out_side; ++x) {
      small[y * out_side + x] = shrink_line(&narrow[x], out_side, y);
    }
  }
  return small;
}

}  // namespace lra::pathfinder
