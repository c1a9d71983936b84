// Attention maps: combines the weight matrices of many examples into one.
#ifndef LRA_EVAL_ATTENTION_MAP_H_
#define LRA_EVAL_ATTENTION_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lra {

// [rows, columns], row-major: row i is query i, column j is key j.
struct AttentionMap {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
};

// Adds 1 to counts[j] for every key that the row of a query needs to gather more than `threshold`
// of its weight. Keys are taken from the heaviest down (of equal weights the earlier key first),
// including the one that exceeds the threshold; if none does, all keys count. This is the inner
// loop of algorithm 2 of Qin et al. 2022 ("cosFormer"), appendix A.3.
void AddCoverage(absl::Span<const float> row, double threshold, absl::Span<uint32_t> counts);

// The average and the coverage of matrices that are added one by one. They may differ in size: an
// entry is divided by the number of matrices that have it. (Algorithm 2 has matrices of one size
// and divides by their number.)
class AttentionMapSum {
 public:
  // `threshold` is that of the coverage, in [0, 1].
  explicit AttentionMapSum(double threshold) : threshold_(threshold) {}

  // `weights` is [rows, columns], row-major.
  void Add(absl::Span<const float> weights, int64_t rows, int64_t columns);

  int64_t matrices() const { return matrices_; }
  AttentionMap Mean() const;
  // Entry (i, j): the share of matrices in which key j belongs to the heaviest keys of query i that
  // gather more than the threshold.
  AttentionMap Coverage() const;

 private:
  void Grow(int64_t rows, int64_t columns);
  template <class T>
  AttentionMap Divide(const std::vector<T>& sums) const;

  const double threshold_;
  int64_t matrices_ = 0, rows_ = 0, columns_ = 0;
  std::vector<double> sums_;  // [rows_, columns_], like the two below
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> present_;  // how many matrices have the entry
};

// The average of maps of one size, entry by entry; at least one map.
AttentionMap AverageMap(const std::vector<AttentionMap>& maps);

// The weight that each key receives, the mean over all queries, folded into a picture: entry (y, x)
// [side, side] is that of key first + y * side + x. The map has at least first + side * side
// columns.
AttentionMap ReceivedPicture(const AttentionMap& map, int64_t first, int64_t side);

}  // namespace lra

#endif  // LRA_EVAL_ATTENTION_MAP_H_
