// Attention maps: weight matrices of many examples made one.
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

// Adds 1 to counts[j] of every key that query's row needs to gather more than `threshold` of its
// weight: heaviest first (of equal weights the earlier key), the one that exceeds it included; all
// keys if none does. The inner loop of algorithm 2 of Qin et al. 2022 ("cosFormer"), appendix A.3.
void AddCoverage(absl::Span<const float> row, double threshold, absl::Span<uint32_t> counts);

// The plain average and the coverage of matrices that are added one by one. They may differ in
// size: an entry is divided by the number of matrices that have it. (Algorithm 2 has one size and
// divides by the number of all.)
class AttentionMapSum {
 public:
  // threshold: of coverage, in [0, 1].
  explicit AttentionMapSum(double threshold) : threshold_(threshold) {}

  // weights: [rows, columns], row-major.
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
  std::vector<double> sums_;  // [rows_, columns_], as all
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> present_;  // matrices that have the entry
};

// Entry by entry, of maps of one size; at least one.
AttentionMap AverageMap(const std::vector<AttentionMap>& maps);

}  // namespace lra

#endif  // LRA_EVAL_ATTENTION_MAP_H_
