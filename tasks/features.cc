#include "tasks/features.h"

#include <algorithm>
#include <cmath>

namespace lra {
namespace {

constexpr int kBits = 20;
constexpr int kMaxIds = 4;  // the longest n-gram

// The finaliser of SplitMix64 (Steele et al. 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Records in `marks` (one byte a bucket) into which buckets the n-grams of `ids` fall, and lists
// the buckets that were not marked before. An id has at most 16 bits, so four ids fit into one
// 64-bit number.
void Mark(const std::vector<int32_t>& ids, uint8_t mark, std::vector<uint8_t>* marks,
          std::vector<uint32_t>* touched) {
  uint64_t last_four = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    last_four = (last_four << 16) | static_cast<uint16_t>(ids[i]);
    for (int n = 1; n <= kMaxIds && static_cast<size_t>(n) <= i + 1; ++n) {
      const uint64_t gram = last_four & (~uint64_t{0} >> (64 - 16 * n));
      const auto bucket = static_cast<uint32_t>(Mix(gram + n) >> (64 - kBits));
      uint8_t& noted = (*marks)[bucket];
      if (noted == 0) touched->push_back(bucket);
      noted |= mark;
    }
  }
}

}  // namespace

int64_t NgramFeatures::size() const { return (int64_t{1} << kBits) * (is_pair_ ? 3 : 1); }

void NgramFeatures::Extract(const SplitView& split, int64_t example,
                            std::vector<Feature>* features) const {
  thread_local std::vector<uint8_t> marks(size_t{1} << kBits, 0);  // all zero between calls
  thread_local std::vector<uint32_t> touched;
  std::vector<int32_t> ids;
  touched.clear();
  for (int column = 0; column < (is_pair_ ? 2 : 1); ++column) {
    split.Read(example, &ids, column);
    Mark(ids, static_cast<uint8_t>(1 << column), &marks, &touched);
  }
  const float value = 1.0f / std::sqrt(static_cast<float>(touched.size()));
  features->clear();
  for (uint32_t bucket : touched) {
    // in the first text only, in the second only, in both
    const uint32_t kind = marks[bucket] - 1u;
    features->push_back({bucket + (kind << kBits), value});
    marks[bucket] = 0;
  }
}

void PixelFeatures::Extract(const SplitView& split, int64_t example,
                            std::vector<Feature>* features) const {
  std::vector<float> values;
  if (split.spec().is_real()) {
    split.ReadReal(example, &values);
  } else {
    std::vector<int32_t> ids;
    split.Read(example, &ids);
    values.assign(ids.begin(), ids.end());
  }
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double n = static_cast<double>(values.size()), mean = sum / n;
  const double deviation = std::sqrt(std::max(squares / n - mean * mean, 1e-6));
  features->resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    (*features)[i] = {static_cast<uint32_t>(i), static_cast<float>((values[i] - mean) / deviation)};
  }
}

}  // namespace lra
