#include "tasks/features.h"

#include <algorithm>
#include <cmath>

namespace lra {
namespace {

constexpr int kBits = 20;
constexpr int kMaxIds = 4;  // the longest n-gram

// Below this, a share differs between training examples by rounding only.
constexpr double kLeastVariance = 1e-12;
// A rare unit has standardised shares of hundreds where it does occur; uncut, one such example
// would move the weights more than all others.
constexpr float kMaxShare = 5.0f;

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

UnitFrequencies::UnitFrequencies(const TaskSpec& seen)
    : vocabulary_(seen.vocabulary_size()),
      is_pair_(seen.is_pair()),
      means_(vocabulary_ * (is_pair_ ? 3 : 1), 0.0f),
      scales_(means_.size(), 1.0f) {}

std::vector<float> UnitFrequencies::Shares(const SplitView& split, int64_t example) const {
  std::vector<float> shares(means_.size(), 0.0f);
  std::vector<int32_t> ids;
  for (int column = 0; column < (is_pair_ ? 2 : 1); ++column) {
    split.Read(example, &ids, column);
    const float one = 1.0f / static_cast<float>(ids.size());
    for (int32_t id : ids) shares[column * vocabulary_ + id] += one;
  }
  for (int64_t id = 0; is_pair_ && id < vocabulary_; ++id) {
    shares[2 * vocabulary_ + id] = std::abs(shares[id] - shares[vocabulary_ + id]);
  }
  return shares;
}

void UnitFrequencies::Fit(const SplitView& train) {
  std::vector<double> sums(means_.size(), 0), squares(means_.size(), 0);
  for (int64_t i = 0; i < train.size(); ++i) {
    const std::vector<float> shares = Shares(train, i);
    for (size_t f = 0; f < shares.size(); ++f) {
      sums[f] += shares[f];
      squares[f] += static_cast<double>(shares[f]) * shares[f];
    }
  }
  const double n = static_cast<double>(train.size());
  for (size_t f = 0; f < sums.size(); ++f) {
    const double mean = sums[f] / n, variance = squares[f] / n - mean * mean;
    means_[f] = static_cast<float>(mean);
    scales_[f] = variance > kLeastVariance ? static_cast<float>(1 / std::sqrt(variance)) : 0.0f;
  }
}

void UnitFrequencies::Extract(const SplitView& split, int64_t example,
                              std::vector<Feature>* features) const {
  const std::vector<float> shares = Shares(split, example);
  features->clear();
  for (size_t f = 0; f < shares.size(); ++f) {
    if (scales_[f] == 0) continue;
    const float value = (shares[f] - means_[f]) * scales_[f];
    features->push_back({static_cast<uint32_t>(f), std::clamp(value, -kMaxShare, kMaxShare)});
  }
}

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
