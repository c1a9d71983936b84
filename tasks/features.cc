#include "tasks/features.h"

#include <algorithm>
#include <cmath>

#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/ngram_hash.h"

namespace lra {
namespace {

constexpr int kBits = 20;
constexpr int kMaxIds = 4;  // the longest n-gram

constexpr int64_t kFittedAtOnce = 4096;

// Below this, a share differs between training examples by rounding only.
constexpr double kLeastVariance = 1e-12;
// A rare unit has standardised shares of hundreds where it does occur; uncut, one such example
// would move the weights more than all others.
constexpr float kMaxShare = 5.0f;

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
      const auto bucket = static_cast<uint32_t>(MixBits(gram + n) >> (64 - kBits));
      uint8_t& noted = (*marks)[bucket];
      if (noted == 0) touched->push_back(bucket);
      noted |= mark;
    }
  }
}

}  // namespace

absl::Status StandardisedFeatures::Fit(const SplitView& train, int threads) {
  std::vector<double> sums(means_.size(), 0), squares(means_.size(), 0);
  std::vector<std::vector<float>> values(kFittedAtOnce);
  for (int64_t first = 0; first < train.size(); first += kFittedAtOnce) {
    const int64_t count = std::min(kFittedAtOnce, train.size() - first);
    LRA_RETURN_IF_ERROR(ParallelFor(ResolveThreads(threads), count, [&](int64_t i) {
      values[i] = Values(train, first + i);
      return absl::OkStatus();
    }));
    // Summed in order, so that threads change nothing.
    for (int64_t i = 0; i < count; ++i) {
      for (size_t f = 0; f < sums.size(); ++f) {
        sums[f] += values[i][f];
        squares[f] += static_cast<double>(values[i][f]) * values[i][f];
      }
    }
  }
  const double n = static_cast<double>(train.size());
  for (size_t f = 0; f < sums.size(); ++f) {
    const double mean = sums[f] / n, variance = squares[f] / n - mean * mean;
    means_[f] = static_cast<float>(mean);
    scales_[f] = variance > kLeastVariance ? static_cast<float>(1 / std::sqrt(variance)) : 0.0f;
  }
  return absl::OkStatus();
}

void StandardisedFeatures::Extract(const SplitView& split, int64_t example,
                                   std::vector<Feature>* features) const {
  const std::vector<float> values = Values(split, example);
  features->clear();
  for (size_t f = 0; f < values.size(); ++f) {
    if (scales_[f] == 0) continue;
    const float value = (values[f] - means_[f]) * scales_[f];
    features->push_back({static_cast<uint32_t>(f), std::clamp(value, -kMaxShare, kMaxShare)});
  }
}

UnitFrequencies::UnitFrequencies(const TaskSpec& seen)
    : StandardisedFeatures(int64_t{seen.vocabulary_size()} * (seen.is_pair() ? 3 : 1)),
      vocabulary_(seen.vocabulary_size()),
      is_pair_(seen.is_pair()) {}

std::vector<float> UnitFrequencies::Values(const SplitView& split, int64_t example) const {
  std::vector<float> shares(size(), 0.0f);
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
