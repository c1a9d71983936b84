#include "tasks/pair_features.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/ngram_hash.h"

namespace lra {
namespace {

constexpr int kBucketBits = 21;
constexpr size_t kBuckets = size_t{1} << kBucketBits;

// The buckets of the n-grams that occur, each once, in ascending order.
std::vector<uint32_t> BucketsOf(absl::Span<const int32_t> ids, size_t n) {
  std::vector<uint32_t> buckets;
  for (size_t i = 0; i + n <= ids.size(); ++i) {
    uint64_t gram = 0;
    for (size_t j = i; j < i + n; ++j) gram = MixBits(gram + static_cast<uint32_t>(ids[j]) + 1);
    buckets.push_back(static_cast<uint32_t>(gram >> (64 - kBucketBits)));
  }
  std::sort(buckets.begin(), buckets.end());
  buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
  return buckets;
}

double Cosine(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
              const float* squared_weights) {
  const auto norm = [&](const std::vector<uint32_t>& buckets) {
    double sum = 0;
    for (const uint32_t bucket : buckets) sum += squared_weights[bucket];
    return sum;
  };
  std::vector<uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  const double norms = norm(a) * norm(b);
  return norms > 0 ? norm(both) / std::sqrt(norms) : 0;
}

}  // namespace

std::vector<float> PairLengths::Values(const SplitView& split, int64_t example) const {
  const int32_t a = split.length_tokens(example, 0), b = split.length_tokens(example, 1);
  return {static_cast<float>(a), static_cast<float>(b), static_cast<float>(std::abs(a - b))};
}

OverlapFeatures::OverlapFeatures() : StandardisedFeatures(std::size(kOverlapIds)) {}

absl::Status OverlapFeatures::Fit(const SplitView& train, int threads) {
  std::vector<uint32_t> texts_with(std::size(kOverlapIds) * kBuckets);
  LRA_RETURN_IF_ERROR(ParallelFor(ResolveThreads(threads), 2 * train.size(), [&](int64_t text) {
    std::vector<int32_t> ids;
    train.Read(text / 2, &ids, static_cast<int>(text % 2));
    for (size_t k = 0; k < std::size(kOverlapIds); ++k) {
      for (const uint32_t bucket : BucketsOf(ids, kOverlapIds[k])) {
        std::atomic_ref<uint32_t>(texts_with[k * kBuckets + bucket])
            .fetch_add(1, std::memory_order_relaxed);
      }
    }
    return absl::OkStatus();
  }));
  const double texts = 2.0 * static_cast<double>(train.size());
  squared_idf_.resize(texts_with.size());
  for (size_t i = 0; i < texts_with.size(); ++i) {
    const double idf = std::log(texts / std::max<uint32_t>(texts_with[i], 1));
    squared_idf_[i] = static_cast<float>(idf * idf);
  }
  return StandardisedFeatures::Fit(train, threads);
}

std::vector<float> OverlapFeatures::Values(const SplitView& split, int64_t example) const {
  std::vector<int32_t> a, b;
  split.Read(example, &a, 0);
  split.Read(example, &b, 1);
  std::vector<float> values;
  for (size_t k = 0; k < std::size(kOverlapIds); ++k) {
    const auto n = static_cast<size_t>(kOverlapIds[k]);
    values.push_back(static_cast<float>(
        Cosine(BucketsOf(a, n), BucketsOf(b, n), squared_idf_.data() + k * kBuckets)));
  }
  return values;
}

}  // namespace lra
