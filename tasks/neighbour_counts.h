// Counts of token ids between two neighbours, for guessing hidden tokens.
#ifndef LRA_TASKS_NEIGHBOUR_COUNTS_H_
#define LRA_TASKS_NEIGHBOUR_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lra {

// Either neighbour may be hidden, which id V says, or beyond the end of the text. What was counted
// between both stands beside kPrior of the mean of what either says, and that beside one unigram.
// Memory: 4 V (V + 2)^2 bytes.
class NeighbourCounts {
 public:
  // unigram [V]: the probability of each id by itself.
  explicit NeighbourCounts(std::vector<double> unigram);

  // Counts ids[n] between its neighbours, and beside either alone.
  void Count(absl::Span<const int32_t> ids, size_t n);
  // [V] the probability of each id at place n; they sum to 1.
  std::vector<double> P(absl::Span<const int32_t> ids, size_t n) const;

 private:
  static constexpr double kPrior = 5;
  // Ids, the mask, and what stands beyond the ends.
  int64_t sides() const { return ids_ + 2; }
  int64_t Left(absl::Span<const int32_t> ids, size_t n) const {
    return n == 0 ? ids_ + 1 : ids[n - 1];
  }
  int64_t Right(absl::Span<const int32_t> ids, size_t n) const {
    return n + 1 == ids.size() ? ids_ + 1 : ids[n + 1];
  }
  template <class Prior>
  std::vector<double> Smoothed(const uint32_t* counts, double weight, const Prior& prior) const;

  const std::vector<double> unigram_;
  const int64_t ids_, mask_;
  std::vector<uint32_t> left_, right_, both_;
};

}  // namespace lra

#endif  // LRA_TASKS_NEIGHBOUR_COUNTS_H_
