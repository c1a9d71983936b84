// The few statistics that a table needs (distributions: Boost.Math).
#ifndef LRA_EVAL_STATISTICS_H_
#define LRA_EVAL_STATISTICS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace lra {

struct Interval {
  double low = 0;
  double high = 0;
};

// Clopper-Pearson: the exact interval of a proportion from `correct` of `examples`. It covers the
// sampling of test examples only, not the seed. Needs 0 <= correct <= examples, examples >= 1, 0 <
// confidence < 1.
Interval ClopperPearson(int64_t correct, int64_t examples, double confidence);
// The same of a share of an effective number of examples, which need not be whole: share in [0, 1],
// examples >= 1.
Interval ClopperPearsonOfShare(double share, double examples, double confidence);

inline double Square(double x) { return x * x; }
double Mean(absl::Span<const double> values);
// The standard deviation of a sample (divisor n - 1); needs at least two values.
double SampleStandardDeviation(absl::Span<const double> values);

// Probability of `correct` or more of `examples` when each is right with probability `p`.
double BinomialUpperTail(int64_t correct, int64_t examples, double p);

}  // namespace lra

#endif  // LRA_EVAL_STATISTICS_H_
