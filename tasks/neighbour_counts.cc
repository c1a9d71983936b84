#include "tasks/neighbour_counts.h"

#include <numeric>
#include <utility>

namespace lra {

NeighbourCounts::NeighbourCounts(std::vector<double> unigram)
    : unigram_(std::move(unigram)),
      ids_(static_cast<int64_t>(unigram_.size())),
      mask_(ids_),
      left_(sides() * ids_),
      right_(sides() * ids_),
      both_(sides() * sides() * ids_) {}

void NeighbourCounts::Count(absl::Span<const int32_t> ids, size_t n) {
  const int64_t before = Left(ids, n), after = Right(ids, n), id = ids[n];
  ++left_[before * ids_ + id];
  // A neighbour that is hidden says nothing: the row of the mask counts every token.
  for (const int64_t side : {after, mask_}) ++right_[side * ids_ + id];
  ++both_[(before * sides() + after) * ids_ + id];
}

// (counts + weight prior) / (their sum + weight).
template <class Prior>
std::vector<double> NeighbourCounts::Smoothed(const uint32_t* counts, double weight,
                                              const Prior& prior) const {
  const double total = std::accumulate(counts, counts + ids_, 0.0) + weight;
  std::vector<double> p(ids_);
  for (int64_t y = 0; y < ids_; ++y) p[y] = (counts[y] + weight * prior(y)) / total;
  return p;
}

std::vector<double> NeighbourCounts::P(absl::Span<const int32_t> ids, size_t n) const {
  const int64_t before = Left(ids, n), after = Right(ids, n);
  const auto unigram = [&](int64_t y) { return unigram_[y]; };
  std::vector<double> left = Smoothed(left_.data() + before * ids_, 1, unigram);
  std::vector<double> right = Smoothed(right_.data() + after * ids_, 1, unigram);
  if (before == mask_) return right;
  if (after == mask_) return left;
  return Smoothed(both_.data() + (before * sides() + after) * ids_, kPrior,
                  [&](int64_t y) { return (left[y] + right[y]) / 2; });
}

}  // namespace lra
