#include "bench/spread.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lra/check.h"

namespace lra {
namespace {

// The value at `share` of the way from the least to the largest of sorted values.
double At(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Logarithms of both values at the lengths that a and b share.
struct Shared {
  double log_tokens = 0;
  double difference = 0;  // log b - log a
};

std::vector<Shared> SharedPoints(absl::Span<const LengthPoint> a, absl::Span<const LengthPoint> b) {
  std::vector<Shared> shared;
  for (const LengthPoint& point : a) {
    for (const LengthPoint& other : b) {
      if (other.at == point.at)
        shared.push_back({std::log(point.at), std::log(other.value / point.value)});
    }
  }
  return shared;
}

}  // namespace

double MedianOf(std::vector<double> values) {
  LRA_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return At(values, 0.5);
}

Interval Quartiles(std::vector<double> values) {
  LRA_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return {At(values, 0.25), At(values, 0.75)};
}

MedianInterval IntervalOfMedian(std::vector<double> values, double coverage) {
  LRA_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const int64_t n = static_cast<int64_t>(values.size());
  MedianInterval interval = {At(values, 0.5), values.front(), values.back(), 0};
  // [x_(k+1), x_(n-k)] misses the median if at most k values, or at least n - k, lie below it.
  for (int64_t k = 0; 2 * k + 1 <= n; ++k) {
    const double reached = 1 - 2 * BinomialUpperTail(n - k, n, 0.5);
    if (k > 0 && reached < coverage) break;
    interval.low = values[k];
    interval.high = values[n - 1 - k];
    interval.coverage = std::max(0.0, reached);
  }
  return interval;
}

std::optional<double> GrowthExponent(absl::Span<const LengthPoint> points, size_t fitted) {
  const size_t first = points.size() > fitted ? points.size() - fitted : 0;
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const LengthPoint& point : points.subspan(first)) {
    const double u = std::log(point.at), w = std::log(point.value);
    ++count, x += u, y += w, xx += u * u, xy += u * w;
  }
  if (count < 2) return std::nullopt;
  return (count * xy - x * y) / (count * xx - x * x);
}

std::optional<double> CrossoverTokens(absl::Span<const LengthPoint> a,
                                      absl::Span<const LengthPoint> b) {
  const std::vector<Shared> shared = SharedPoints(a, b);
  if (shared.empty() || shared.back().difference >= 0) return std::nullopt;
  // From the end: the last length at which b is not below a.
  for (size_t i = shared.size() - 1; i > 0; --i) {
    const Shared &before = shared[i - 1], &after = shared[i];
    if (before.difference < 0) continue;
    const double share = before.difference / (before.difference - after.difference);
    return std::exp(before.log_tokens + share * (after.log_tokens - before.log_tokens));
  }
  return std::nullopt;
}

}  // namespace lra
