#include "eval/power.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>

#include "eval/comparison.h"
#include "lra/check.h"

namespace lra {
namespace {

constexpr int kQuantiles = 2000;
constexpr int64_t kMostSeeds = 10000, kMostExamples = 1000000000;
// A variance of examples with so many degrees of freedom counts as known.
constexpr double kKnownDegrees = 1000;
// Pairs the quantiles of two variances: without a common divisor with kQuantiles, and near its
// golden section, so that the pairs lie evenly.
constexpr int kPairingStep = 1237;

// The half width of a mean with variance 1 from one source.
double OneSourceQuantile(double degrees, double confidence) {
  Estimate one;
  one.seed_variance = 1;
  one.seed_degrees = degrees;
  return HalfWidth(one, confidence);
}

// The q-th midpoint quantile of chi^2 with so many degrees, over the degrees.
double ChiSquaredShare(double degrees, int q) {
  return quantile(boost::math::chi_squared(degrees), (q + 0.5) / kQuantiles) / degrees;
}

// A variance as comparisons estimate it, at the q-th of their quantiles.
struct SeenVariance {
  double variance, degrees;
  bool varies;
  double At(int q) const { return varies ? variance * ChiSquaredShare(degrees, q) : variance; }
};

// The two ends that a comparison stops at, over the estimated variances of seeds and of few
// examples, which vary: midpoint quantiles of chi^2_nu / nu.
class PowerCurve {
 public:
  PowerCurve(const Estimate& variances, double confidence)
      : total_(variances.seed_variance + variances.example_variance) {
    const SeenVariance seeds{variances.seed_variance, variances.seed_degrees,
                             variances.seed_variance > 0 && !std::isinf(variances.seed_degrees)};
    const SeenVariance examples{
        variances.example_variance, variances.example_degrees,
        variances.example_variance > 0 && variances.example_degrees < kKnownDegrees};
    const double t = OneSourceQuantile(seeds.varies ? seeds.degrees : kManyDegrees, confidence);
    const double u = OneSourceQuantile(examples.degrees, confidence);
    count_ = seeds.varies || examples.varies ? kQuantiles : 1;
    for (int q = 0; q < count_; ++q) {
      const double seen = seeds.At(q), seen_examples = examples.At(q * kPairingStep % kQuantiles);
      widths_[q] = (seen * t + seen_examples * u) / std::sqrt(seen + seen_examples);
    }
  }

  double At(double difference) const {
    const boost::math::normal normal;
    const double deviation = std::sqrt(total_);
    double sum = 0;
    for (int q = 0; q < count_; ++q) {
      sum += cdf(normal, (difference - widths_[q]) / deviation) +
             cdf(normal, (-difference - widths_[q]) / deviation);
    }
    return sum / count_;
  }

 private:
  double total_;
  int count_;
  std::array<double, kQuantiles> widths_;
};

Estimate VariancesOf(const Design& design) {
  const auto n = static_cast<double>(design.examples);
  const DifferenceComponents& c = design.components;
  Estimate estimate;
  estimate.seed_variance = std::isinf(design.seeds) ? 0 : (c.seeds + c.rest / n) / design.seeds;
  estimate.seed_degrees = design.degrees_per_seed * (design.seeds - 1);
  estimate.example_variance = c.examples / n;
  if (design.block_examples > 0)
    estimate.example_degrees = std::max(1.0, n / design.block_examples - 1);
  return estimate;
}

// The least whole number in [low, high] for which `holds`, which stays true once it is.
std::optional<int64_t> Least(int64_t low, int64_t high, const std::function<bool(int64_t)>& holds) {
  // Doubling first: the answer is usually small.
  int64_t reach = low;
  while (reach < high && !holds(reach)) reach = std::min(high, 2 * reach);
  if (!holds(reach)) return std::nullopt;
  low = std::max(low, reach / 2);
  while (low < reach) {
    const int64_t middle = low + (reach - low) / 2;
    if (holds(middle)) {
      reach = middle;
    } else {
      low = middle + 1;
    }
  }
  return reach;
}

}  // namespace

Equivalence TestEquivalence(const Estimate& difference, double margin, double alpha) {
  LRA_CHECK(margin > 0 && alpha > 0 && alpha < 0.5) << margin << ", " << alpha;
  Equivalence result;
  result.interval = MeanInterval(difference, 1 - 2 * alpha);
  Estimate mirrored = difference;
  mirrored.mean = -difference.mean;
  result.p = std::max(UpperP(difference, -margin), UpperP(mirrored, -margin));
  result.is_equivalent = result.interval.low > -margin && result.interval.high < margin;
  return result;
}

DifferenceComponents ComponentsOf(const CrossedMoments& d) {
  return {.seeds = std::max(0.0, d.msa - d.mse) / static_cast<double>(d.examples),
          .examples = std::max(0.0, d.msb - d.mse) / static_cast<double>(d.seeds),
          .rest = d.mse};
}

DifferenceComponents AssumedComponents(double seed_deviation, double disagreement) {
  return {seed_deviation * seed_deviation, disagreement / 2, disagreement / 2};
}

Design UnpairedDesign(const CrossedSums& a, const CrossedSums& b, int64_t examples, double seeds) {
  const CrossedMoments row_a = MomentsOf(a), row_b = MomentsOf(b);
  const DifferenceComponents part_a = ComponentsOf(row_a), part_b = ComponentsOf(row_b);
  const Estimate difference = UnpairedDifference(a, b);
  Design design;
  // Equal runs that differ by a constant leave nothing but rounding.
  if (!difference.constant_examples) {
    design.components = {part_a.seeds + part_b.seeds,
                         difference.example_variance * static_cast<double>(a.examples),
                         part_a.rest + part_b.rest};
  }
  design.examples = examples;
  design.seeds = seeds;
  design.block_examples = static_cast<double>(a.examples) / static_cast<double>(a.blocks());
  const auto n = static_cast<double>(examples);
  const double w_a = part_a.seeds + part_a.rest / n, w_b = part_b.seeds + part_b.rest / n;
  if (w_a + w_b > 0) design.degrees_per_seed = (w_a + w_b) * (w_a + w_b) / (w_a * w_a + w_b * w_b);
  return design;
}

double PowerOf(const Estimate& estimate, double difference, double confidence) {
  return PowerCurve(estimate, confidence).At(difference);
}

double Power(const Design& design, double difference, double confidence) {
  return PowerOf(VariancesOf(design), difference, confidence);
}

std::optional<double> SmallestDifferenceOf(const Estimate& estimate, double power,
                                           double confidence, double largest) {
  LRA_CHECK(power > 0 && power < 1) << power;
  if (estimate.constant_examples || estimate.seed_variance + estimate.example_variance <= 0)
    return std::nullopt;
  const PowerCurve curve(estimate, confidence);
  double low = 0, high = 1;
  while (high < largest && !(curve.At(high) >= power)) high *= 2;
  high = std::min(high, largest);
  if (std::isinf(high) || !(curve.At(high) >= power)) return std::nullopt;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (curve.At(middle) >= power ? high : low) = middle;
  }
  return high;
}

std::optional<double> SmallestDifference(const Design& design, double power, double confidence,
                                         double largest) {
  return SmallestDifferenceOf(VariancesOf(design), power, confidence, largest);
}

std::optional<int64_t> SeedsNeeded(const Design& design, double difference, double power,
                                   double confidence) {
  return Least(2, kMostSeeds, [&](int64_t seeds) {
    Design with = design;
    with.seeds = static_cast<double>(seeds);
    return Power(with, difference, confidence) >= power;
  });
}

std::optional<int64_t> ExamplesNeeded(const Design& design, double difference, double power,
                                      double confidence) {
  return Least(2, kMostExamples, [&](int64_t examples) {
    Design with = design;
    with.examples = examples;
    return Power(with, difference, confidence) >= power;
  });
}

}  // namespace lra
