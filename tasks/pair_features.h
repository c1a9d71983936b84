// What can be had of a pair of texts without understanding either: how long they are, and what they
// share.
#ifndef LRA_TASKS_PAIR_FEATURES_H_
#define LRA_TASKS_PAIR_FEATURES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tasks/features.h"

namespace lra {

// The length of each text, and the absolute difference of both.
class PairLengths : public StandardisedFeatures {
 public:
  PairLengths() : StandardisedFeatures(3) {}

 protected:
  std::vector<float> Values(const SplitView& split, int64_t example) const override;
};

// For each length n of kOverlapIds, the cosine of the two sets of n-grams that occur, each weighted
// by its idf, log(texts / texts with it) over the training texts, so that shared rare n-grams
// (names) count and common ones do not. N-grams are hashed into 2^21 buckets for each n, which take
// 4 bytes.
inline constexpr int kOverlapIds[] = {1, 2, 3, 4, 6, 8};

class OverlapFeatures : public StandardisedFeatures {
 public:
  OverlapFeatures();
  absl::Status Fit(const SplitView& train, int threads) override;

 protected:
  std::vector<float> Values(const SplitView& split, int64_t example) const override;

 private:
  std::vector<float> squared_idf_;  // [kOverlapIds, buckets]
};

}  // namespace lra

#endif  // LRA_TASKS_PAIR_FEATURES_H_
