// Tests of one sample against another of which only a summary is kept. Both are finite, so both
// contribute sampling errors. For the statistics tests of this folder.
#ifndef LRA_TASKS_PATHFINDER_TWO_SAMPLE_TEST_UTIL_H_
#define LRA_TASKS_PATHFINDER_TWO_SAMPLE_TEST_UTIL_H_

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <utility>
#include <vector>

namespace lra::pathfinder {

struct Moments {
  double mean = 0, variance = 0;  // of the sample, divided by its size
  double size = 0;
};

inline Moments MomentsOf(const std::vector<double>& values) {
  Moments moments;
  moments.size = static_cast<double>(values.size());
  for (const double value : values) moments.mean += value / moments.size;
  for (const double value : values) {
    moments.variance += (value - moments.mean) * (value - moments.mean) / moments.size;
  }
  return moments;
}

inline double TwoSided(double z) {
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), std::abs(z)));
}

// The p-value of equal means. A sample without spread fits an equal mean only.
inline double MeanTest(const Moments& a, const Moments& b) {
  const double variance = a.variance / a.size + b.variance / b.size;
  const double difference = std::abs(a.mean - b.mean);
  if (difference <= 1e-6 * std::abs(b.mean)) return 1;  // references have 7 digits
  return variance == 0 ? 0 : TwoSided(difference / std::sqrt(variance));
}

// P(X <= c) and P(X >= c), where X is how many of `n` values lie below the k-th smallest of `m`
// others from the same continuous distribution; X has a negative hypergeometric (beta-binomial)
// distribution.
inline std::pair<double, double> RankTails(int n, int m, int k, int c) {
  const double a = k, b = m - k + 1;
  // log P(X = 0) = log [B(a, b + n) / B(a, b)].
  double log_p = std::lgamma(b + n) - std::lgamma(a + b + n) - std::lgamma(b) + std::lgamma(a + b);
  double at_most = 0, at_least = 0;
  for (int x = 0; x <= n; ++x) {
    const double p = std::exp(log_p);
    if (x <= c) at_most += p;
    if (x >= c) at_least += p;
    log_p += std::log((n - x) * (x + a) / ((x + 1) * (b + n - x - 1)));
  }
  return {std::min(at_most, 1.0), std::min(at_least, 1.0)};
}

// The p-value of equal distribution functions at `value`, the percentile `level` (0 .. 1) of
// another sample of `m` values, interpolated between its neighbours in rank. With ties, p may be
// too large but not too small.
inline double PercentileTest(const std::vector<double>& sample, double value, double level, int m) {
  const double tolerance = 1e-5 * std::abs(value);
  int at_most = 0, below = 0;
  for (const double x : sample) {
    at_most += x <= value + tolerance;
    below += x < value - tolerance;
  }
  const double rank = level * (m - 1) + 1;
  const int low = static_cast<int>(std::floor(rank)), high = static_cast<int>(std::ceil(rank));
  const int n = static_cast<int>(sample.size());
  // Values equal to the percentile may lie on either side of it.
  const double too_few = RankTails(n, m, low, at_most).first;
  const double too_many = RankTails(n, m, high, below).second;
  return std::min(1.0, 2 * std::min(too_few, too_many));
}

// The two-sample Kolmogorov-Smirnov test, asymptotic (Stephens 1970); conservative for values with
// ties.
inline double KolmogorovSmirnov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double distance = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    distance = std::max(
        distance, std::abs(static_cast<double>(i) / a.size() - static_cast<double>(j) / b.size()));
  }
  const double size = static_cast<double>(a.size()) * b.size() / (a.size() + b.size());
  const double root = std::sqrt(size), x = (root + 0.12 + 0.11 / root) * distance;
  if (x < 0.2) return 1;
  double p = 0;
  for (int k = 1; k <= 100; ++k) p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return std::clamp(p, 0.0, 1.0);
}

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_TWO_SAMPLE_TEST_UTIL_H_
