#include "eval/statistics.h"

#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <numeric>

#include "lra/check.h"

namespace lra {
namespace {

Interval BetaEnds(double k, double n, double confidence) {
  using Beta = boost::math::beta_distribution<double>;
  const double tail = (1 - confidence) / 2;
  return {.low = k <= 0 ? 0 : quantile(Beta(k, n - k + 1), tail),
          .high = k >= n ? 1 : quantile(complement(Beta(k + 1, n - k), tail))};
}

}  // namespace

Interval ClopperPearson(int64_t correct, int64_t examples, double confidence) {
  LRA_CHECK(examples >= 1 && correct >= 0 && correct <= examples) << correct << " of " << examples;
  LRA_CHECK(confidence > 0 && confidence < 1) << confidence;
  return BetaEnds(static_cast<double>(correct), static_cast<double>(examples), confidence);
}

Interval ClopperPearsonOfShare(double share, double examples, double confidence) {
  LRA_CHECK(examples >= 1 && share >= 0 && share <= 1) << share << " of " << examples;
  LRA_CHECK(confidence > 0 && confidence < 1) << confidence;
  return BetaEnds(share * examples, examples, confidence);
}

double Mean(absl::Span<const double> values) {
  LRA_CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double SampleStandardDeviation(absl::Span<const double> values) {
  LRA_CHECK(values.size() >= 2);
  const double mean = Mean(values);
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double BinomialUpperTail(int64_t correct, int64_t examples, double p) {
  LRA_CHECK(examples >= 1 && correct >= 0 && correct <= examples && p >= 0 && p <= 1);
  if (correct == 0) return 1;
  // P(X >= k) is the regularised incomplete beta function I_p(k, n - k + 1).
  return boost::math::ibeta(static_cast<double>(correct),
                            static_cast<double>(examples - correct + 1), p);
}

}  // namespace lra
