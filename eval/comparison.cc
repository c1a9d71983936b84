#include "eval/comparison.h"

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <cmath>
#include <vector>

#include "eval/statistics.h"
#include "lra/check.h"

namespace lra {
namespace {

// Welch's degrees of freedom of a sum of variances; a part without variance has no say.
double WelchDegrees(double v_a, double degrees_a, double v_b, double degrees_b) {
  const auto part = [](double v, double degrees) { return v > 0 ? v * v / degrees : 0; };
  const double parts = part(v_a, degrees_a) + part(v_b, degrees_b);
  return parts > 0 ? Square(v_a + v_b) / parts : kManyDegrees;
}

// Example means of A less those of B.
std::vector<double> MeanDifferences(const CrossedSums& a, const CrossedSums& b) {
  std::vector<double> differences(a.example_totals.size());
  for (size_t i = 0; i < differences.size(); ++i) {
    differences[i] = a.example_totals[i] / static_cast<double>(a.seeds()) -
                     b.example_totals[i] / static_cast<double>(b.seeds());
  }
  return differences;
}

// The values that are not 0 up to rounding; they are `scale` times what is looked at.
int64_t CountNonZero(absl::Span<const double> values, double scale) {
  return std::count_if(values.begin(), values.end(),
                       [&](double value) { return std::abs(value) > 1e-12 * scale; });
}

double MeanSquare(const CrossedSums& sums) {
  return sums.squares / static_cast<double>(sums.seeds() * sums.blocks());
}

}  // namespace

Estimate UnpairedDifference(const CrossedSums& a, const CrossedSums& b) {
  LRA_CHECK(a.examples == b.examples) << a.examples << " and " << b.examples;
  LRA_CHECK(a.blocks() == b.blocks()) << a.blocks() << " and " << b.blocks() << " blocks";
  const CrossedMoments row_a = MomentsOf(a), row_b = MomentsOf(b);
  const std::vector<double> differences = MeanDifferences(a, b);
  const auto n = static_cast<double>(a.examples), blocks = static_cast<double>(a.blocks());
  Estimate estimate;
  estimate.mean = row_a.mean - row_b.mean;
  const double v_a = row_a.seed_variance(), v_b = row_b.seed_variance();
  const double rest =
      row_a.mse / static_cast<double>(a.seeds()) + row_b.mse / static_cast<double>(b.seeds());
  // In the unit of single examples, as MSE is.
  const double variance =
      blocks > 1 ? Square(SampleStandardDeviation(differences)) * (n / blocks) : 0;
  if (a.blocks() != a.examples) estimate.blocks = a.blocks();
  // Equal runs and differences leave rounding where values, as those of blocks, are not whole.
  const double rounding = 1e-14 * (MeanSquare(a) + MeanSquare(b));
  if (v_a + v_b <= rounding && variance + rest <= rounding * (n / blocks)) {
    if (Square(estimate.mean) <= rounding) estimate.mean = 0;  // its sign would be a finding
    estimate.constant_examples = a.blocks();
    return estimate;
  }
  estimate.seed_variance = v_a + v_b;
  estimate.seed_degrees = WelchDegrees(v_a, static_cast<double>(a.seeds() - 1), v_b,
                                       static_cast<double>(b.seeds() - 1));
  estimate.example_variance = std::max(0.0, variance - rest) / n;
  if (blocks > 1) estimate.example_degrees = blocks - 1;
  RaiseToResidual(rest / n, &estimate);
  return estimate;
}

Estimate PairedDifference(absl::Span<const ExampleValues> a, absl::Span<const ExampleValues> b,
                          int64_t block_examples) {
  LRA_CHECK(a.size() == b.size() && !a.empty()) << a.size() << " and " << b.size();
  std::vector<ExampleValues> x(a.begin(), a.end());
  for (size_t s = 0; s < x.size(); ++s) {
    LRA_CHECK(x[s].size() == b[s].size());
    for (size_t i = 0; i < x[s].size(); ++i) x[s][i] -= b[s][i];
  }
  return EstimateOf(MomentsOfRuns(x, block_examples));
}

Estimate DifferenceOfEstimates(const Estimate& a, const Estimate& b) {
  Estimate estimate;
  estimate.mean = a.mean - b.mean;
  estimate.seed_variance = a.seed_variance + b.seed_variance;
  estimate.seed_degrees =
      WelchDegrees(a.seed_variance, a.seed_degrees, b.seed_variance, b.seed_degrees);
  estimate.example_variance = Square(std::sqrt(WithVariance(a).example_variance) +
                                     std::sqrt(WithVariance(b).example_variance));
  estimate.example_degrees = std::min(a.example_degrees, b.example_degrees);
  estimate.least_example_variance = 0;
  estimate.blocks = std::max(a.blocks, b.blocks);
  return estimate;
}

int64_t DifferingExamples(const CrossedSums& a, const CrossedSums& b) {
  return CountNonZero(MeanDifferences(a, b), /*scale=*/1);
}

int64_t DifferingExamples(const CrossedSums& difference) {
  return CountNonZero(difference.example_totals, static_cast<double>(difference.seeds()));
}

Discordance DiscordanceOf(const ExampleValues& a, const ExampleValues& b) {
  LRA_CHECK(a.size() == b.size()) << a.size() << " and " << b.size();
  Discordance d;
  d.examples = static_cast<int64_t>(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    d.only_a += a[i] > b[i] ? 1 : 0;
    d.only_b += a[i] < b[i] ? 1 : 0;
  }
  return d;
}

Discordance WidestDiscordance(int64_t correct_a, int64_t correct_b, int64_t examples) {
  const int64_t both = correct_a + correct_b;
  const int64_t discordant = std::min(both, 2 * examples - both);
  const int64_t difference = correct_a - correct_b;
  return {(discordant + difference) / 2, (discordant - difference) / 2, examples};
}

double McNemarUpperP(const Discordance& d) {
  const int64_t discordant = d.only_a + d.only_b;
  return discordant == 0 ? 1 : BinomialUpperTail(d.only_a, discordant, 0.5);
}

double McNemarP(const Discordance& d) {
  const double upper = McNemarUpperP({std::max(d.only_a, d.only_b), std::min(d.only_a, d.only_b)});
  return std::min(1.0, 2 * upper);
}

Estimate BonettPriceEstimate(const Discordance& d) {
  const double n = static_cast<double>(d.examples) + 2;
  const double discordant = static_cast<double>(d.only_a + d.only_b) + 2;
  Estimate estimate;
  estimate.mean = static_cast<double>(d.only_a - d.only_b) / n;
  estimate.example_variance = (discordant / n - Square(estimate.mean)) / n;
  return estimate;
}

Interval BonettPriceInterval(const Discordance& d, double confidence) {
  const Interval interval = MeanInterval(BonettPriceEstimate(d), confidence);
  return {.low = std::max(-1.0, interval.low), .high = std::min(1.0, interval.high)};
}

double FisherExactP(int64_t a, int64_t n_a, int64_t b, int64_t n_b) {
  LRA_CHECK(a >= 0 && a <= n_a && b >= 0 && b <= n_b);
  const int64_t trained = a + b, runs = n_a + n_b;
  if (trained == 0 || trained == runs || n_a == 0 || n_b == 0) return 1;
  const boost::math::hypergeometric tables(static_cast<unsigned>(trained),
                                           static_cast<unsigned>(n_a), static_cast<unsigned>(runs));
  const double seen = pdf(tables, static_cast<unsigned>(a));
  double p = 0;
  for (int64_t k = std::max<int64_t>(0, trained - n_b); k <= std::min(trained, n_a); ++k) {
    const double likelihood = pdf(tables, static_cast<unsigned>(k));
    if (likelihood <= seen * (1 + 1e-9)) p += likelihood;
  }
  return std::min(1.0, p);
}

}  // namespace lra
