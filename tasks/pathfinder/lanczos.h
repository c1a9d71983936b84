// The Lanczos-3 filter that Pillow uses to shrink 8-bit images (Image.resize,
// src/libImaging/Resample.c).
#ifndef LRA_TASKS_PATHFINDER_LANCZOS_H_
#define LRA_TASKS_PATHFINDER_LANCZOS_H_

#include <cstdint>
#include <vector>

namespace lra::pathfinder {

// Weights along one axis, as integer multiples of 2^-22.
class LanczosFilter {
 public:
  // The samples first .. first + weights.size() - 1 contribute to one output with these weights.
  struct Taps {
    int first;
    std::vector<int32_t> weights;
  };

  // out_samples must be <= in_samples.
  LanczosFilter(int in_samples, int out_samples);

  int in_samples() const { return in_samples_; }
  int out_samples() const { return static_cast<int>(taps_.size()); }
  const Taps& taps(int out) const { return taps_[out]; }
  // A sum of weights times bytes, rounded to a byte and clamped to 0 .. 255.
  static uint8_t ToByte(int64_t sum);

 private:
  int in_samples_;
  std::vector<Taps> taps_;
};

// Shrinks a square image of in_samples^2 bytes, row-major, to out_samples^2: first along the rows,
// rounded to bytes, then along the columns.
std::vector<uint8_t> ShrinkImage(const std::vector<uint8_t>& image, const LanczosFilter& filter);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_LANCZOS_H_
