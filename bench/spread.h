// Medians, growth and crossings of measured times. What is measured is skewed and has outliers, so
// nothing here assumes a distribution.
#ifndef LRA_BENCH_SPREAD_H_
#define LRA_BENCH_SPREAD_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "eval/statistics.h"

namespace lra {

// The mean of the two in the middle of an even number; needs at least one value.
double MedianOf(std::vector<double> values);

// The quartiles by linear interpolation between order statistics; needs at least one value.
Interval Quartiles(std::vector<double> values);

struct MedianInterval {
  double median = 0;
  double low = 0, high = 0;
  // The probability with which [low, high] holds the median of what was sampled, whatever its
  // distribution: that of a sign test.
  double coverage = 0;
};
// Between the two order statistics nearest to the middle that reach `coverage`; the least and the
// largest value where none do, as for fewer than six values and 0.95.
MedianInterval IntervalOfMedian(std::vector<double> values, double coverage = 0.95);

struct LengthPoint {
  double at = 0;     // the length, or the width
  double value = 0;  // seconds or bytes, above 0
};

// Slope of log value over log place by least squares over the last `fitted` points; nothing for
// fewer than two.
std::optional<double> GrowthExponent(absl::Span<const LengthPoint> points, size_t fitted = 4);

// The length from which on `b` stays below `a`, both given at increasing lengths: between two
// lengths that both have, by interpolation of logarithms. Nothing where `b` is below from the first
// shared length on, or not at the last one.
std::optional<double> CrossoverTokens(absl::Span<const LengthPoint> a,
                                      absl::Span<const LengthPoint> b);

}  // namespace lra

#endif  // LRA_BENCH_SPREAD_H_
