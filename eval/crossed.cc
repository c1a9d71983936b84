#include "eval/crossed.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <utility>

#include "eval/statistics.h"
#include "eval/stratum_blocks.h"
#include "lra/check.h"

namespace lra {
namespace {

constexpr double kLeastP = 1e-300;

double SumOfSquares(absl::Span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

// Adds a run's value of each block.
void AddToSums(const ExampleValues& values, CrossedSums* sums) {
  double total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    total += values[i];
    sums->example_totals[i] += values[i];
  }
  sums->seed_totals.push_back(total);
  sums->squares += SumOfSquares(values);
}

// The quantile that a normal or Student's variable exceeds with probability `tail`.
double UpperQuantile(double degrees, double tail) {
  if (std::isinf(degrees)) return quantile(complement(boost::math::normal(), tail));
  return quantile(complement(boost::math::students_t(degrees), tail));
}

// Half width for the two-sided tail p = 1 - confidence, which keeps its digits near 0.
double WidthOf(const Estimate& estimate, double example_variance, double p) {
  const double seed = estimate.seed_variance, total = seed + example_variance;
  if (total <= 0) return 0;
  const double t = seed > 0 ? UpperQuantile(estimate.seed_degrees, p / 2) : 0;
  const double u = example_variance > 0 ? UpperQuantile(estimate.example_degrees, p / 2) : 0;
  return (seed * t + example_variance * u) / std::sqrt(total);
}

double WidthAt(const Estimate& estimate, double p) {
  // Zero right answers (or differences) of n examples: the upper end of Clopper-Pearson.
  if (estimate.constant_examples)
    return 1 - std::pow(p / 2, 1 / static_cast<double>(*estimate.constant_examples));
  const double width = WidthOf(estimate, estimate.example_variance, p);
  if (!estimate.least_example_variance) return width;
  // In the examples' variance the width falls, if at all, and then rises: its largest value is at
  // one of the ends.
  return std::max(width, WidthOf(estimate, *estimate.least_example_variance, p));
}

// All examples show the same difference: the sign test of n equal signs against 0; against any
// other value the p that belongs to the half width.
double ConstantP(const Estimate& estimate, double value) {
  const auto n = static_cast<double>(*estimate.constant_examples);
  const double distance = std::abs(estimate.mean - value);
  if (distance == 0) return 1;
  if (value == 0) return std::min(1.0, std::pow(2.0, 1 - n));
  return std::min(1.0, 2 * std::pow(std::max(0.0, 1 - distance), n));
}

// The p whose half width is `distance` > 0, by a bracketed search on log p.
double PAtDistance(const Estimate& estimate, double distance) {
  // Rises with log p from -1/2 to 1/2: bounded, however wide the interval gets.
  const auto off = [&](double log_p) {
    return 0.5 - 1 / (1 + distance / WidthAt(estimate, std::exp(log_p)));
  };
  const double least = std::log(kLeastP), most = -1e-15;
  if (off(least) >= 0) return kLeastP;
  if (off(most) <= 0) return 1;
  std::uintmax_t steps = 200;
  const auto [low, high] = boost::math::tools::toms748_solve(
      off, least, most, boost::math::tools::eps_tolerance<double>(48), steps);
  return std::min(1.0, std::exp((low + high) / 2));
}

}  // namespace

int64_t CountBlocks(int64_t examples, int64_t block_examples) {
  LRA_CHECK(block_examples >= 1) << block_examples;
  const int64_t blocks = (examples + block_examples - 1) / block_examples;
  return blocks < 2 ? examples : blocks;
}

ExampleValues BlockValues(const ExampleValues& run, int64_t block_examples) {
  return ValuesOfBlocks(run, EqualBlocks(static_cast<int64_t>(run.size()), block_examples));
}

CrossedSums SumsOf(absl::Span<const ExampleValues> runs, int64_t block_examples) {
  LRA_CHECK(!runs.empty() && !runs.front().empty());
  CrossedSums sums;
  sums.examples = static_cast<int64_t>(runs.front().size());
  sums.example_totals.resize(CountBlocks(sums.examples, block_examples));
  for (const ExampleValues& run : runs) {
    LRA_CHECK(static_cast<int64_t>(run.size()) == sums.examples) << run.size();
    if (sums.blocks() == sums.examples) {
      AddToSums(run, &sums);
    } else {
      AddToSums(BlockValues(run, block_examples), &sums);
    }
  }
  return sums;
}

double CrossedMoments::seed_variance() const {
  return msa / static_cast<double>(examples) / static_cast<double>(seeds);
}

double CrossedMoments::example_variance() const {
  return std::max(0.0, msb - mse) / static_cast<double>(examples) / static_cast<double>(seeds);
}

// In the form B S x (sum of squares), which is exact for whole numbers below 2^53.
CrossedMoments MomentsOf(const CrossedSums& sums) {
  const auto s = static_cast<double>(sums.seeds()), b = static_cast<double>(sums.blocks());
  double total = 0;
  for (const double seed : sums.seed_totals) total += seed;
  const double seeds = s * SumOfSquares(sums.seed_totals) - Square(total);
  const double blocks = b * SumOfSquares(sums.example_totals) - Square(total);
  const double all = b * s * sums.squares - Square(total);
  CrossedMoments moments;
  moments.seeds = sums.seeds();
  moments.examples = sums.examples;
  moments.blocks = sums.blocks();
  moments.mean = total / (b * s);
  moments.is_constant = all <= 1e-14 * b * s * sums.squares;
  if (moments.is_constant) return moments;
  // Exactly 1 where each example is a block.
  const double block_examples = static_cast<double>(sums.examples) / b;
  if (s > 1) moments.msa = std::max(0.0, seeds) / (b * s * (s - 1)) * block_examples;
  if (b > 1) moments.msb = std::max(0.0, blocks) / (b * s * (b - 1)) * block_examples;
  if (s > 1 && b > 1) {
    moments.mse =
        std::max(0.0, all - seeds - blocks) / (b * s * (s - 1) * (b - 1)) * block_examples;
  }
  return moments;
}

Estimate EstimateOf(const CrossedMoments& moments) {
  Estimate estimate;
  estimate.mean = moments.mean;
  if (moments.blocks != moments.examples) estimate.blocks = moments.blocks;
  if (moments.is_constant) {
    estimate.constant_examples = moments.blocks;
    return estimate;
  }
  estimate.seed_variance = moments.seed_variance();
  if (moments.seeds > 1) estimate.seed_degrees = static_cast<double>(moments.seeds - 1);
  estimate.example_variance = moments.example_variance();
  if (moments.blocks > 1) estimate.example_degrees = static_cast<double>(moments.blocks - 1);
  RaiseToResidual(moments.mse / static_cast<double>(moments.examples * moments.seeds), &estimate);
  return estimate;
}

void RaiseToResidual(double residual_variance, Estimate* estimate) {
  estimate->example_variance =
      std::max(estimate->example_variance, residual_variance - estimate->seed_variance);
}

Estimate WithVariance(const Estimate& estimate) {
  if (!estimate.constant_examples) return estimate;
  constexpr double kTail = 0.05;
  Estimate varying = estimate;
  varying.constant_examples.reset();
  varying.example_variance =
      Square(WidthAt(estimate, kTail) / UpperQuantile(kManyDegrees, kTail / 2));
  return varying;
}

Estimate WiderOf(const Estimate& blocks, const Estimate& singly) {
  return singly.example_variance > blocks.example_variance ? singly : blocks;
}

CrossedMoments MomentsOfRuns(absl::Span<const ExampleValues> runs, int64_t block_examples) {
  LRA_CHECK(!runs.empty());
  return MomentsOfBlocks(runs,
                         EqualBlocks(static_cast<int64_t>(runs.front().size()), block_examples));
}

double HalfWidth(const Estimate& estimate, double confidence) {
  LRA_CHECK(confidence > 0 && confidence < 1) << confidence;
  return WidthAt(estimate, 1 - confidence);
}

Interval MeanInterval(const Estimate& estimate, double confidence) {
  const double width = HalfWidth(estimate, confidence);
  return {.low = estimate.mean - width, .high = estimate.mean + width};
}

double TwoSidedP(const Estimate& estimate, double value) {
  if (estimate.constant_examples) return ConstantP(estimate, value);
  const double distance = std::abs(estimate.mean - value);
  if (distance == 0) return 1;
  if (WidthAt(estimate, 0.5) <= 0) return kLeastP;
  return PAtDistance(estimate, distance);
}

double UpperP(const Estimate& estimate, double value) {
  const double half = TwoSidedP(estimate, value) / 2;
  return estimate.mean > value ? half : 1 - half;
}

double EffectiveExamples(const Estimate& estimate, int64_t examples, double confidence) {
  // One value everywhere has no half width of its own here: Clopper-Pearson's is taken.
  if (estimate.constant_examples) return static_cast<double>(*estimate.constant_examples);
  const auto n = static_cast<double>(examples);
  const double h = HalfWidth(estimate, confidence);
  if (h <= 0 || examples < 2) return n;
  // That of n examples, also where these stand in few blocks: h has the wider quantile of blocks,
  // which must not cancel.
  const double degrees = std::max(estimate.example_degrees, n - 1);
  const double u = UpperQuantile(degrees, (1 - confidence) / 2);
  return std::max(1.0, Square(u / h) * estimate.mean * (1 - estimate.mean) * n / (n - 1));
}

Interval ProportionInterval(const Estimate& estimate, int64_t examples, double confidence) {
  LRA_CHECK(estimate.mean >= 0 && estimate.mean <= 1) << estimate.mean;
  const double effective = EffectiveExamples(estimate, examples, confidence);
  return ClopperPearsonOfShare(estimate.mean, effective, confidence);
}

Interval ProportionInterval(const CrossedMoments& moments, double confidence) {
  return ProportionInterval(EstimateOf(moments), moments.examples, confidence);
}

Estimate EstimateOfCounts(absl::Span<const int64_t> correct, int64_t examples,
                          int64_t block_examples) {
  LRA_CHECK(!correct.empty() && examples > 0);
  const int64_t blocks = CountBlocks(examples, block_examples);
  const auto s = static_cast<double>(correct.size()), n = static_cast<double>(examples);
  std::vector<double> totals(correct.begin(), correct.end());
  double total = 0;
  for (const double seed : totals) total += seed;
  Estimate estimate;
  estimate.mean = total / (n * s);
  if (blocks != examples) estimate.blocks = blocks;
  if (total == 0 || total == n * s) {
    estimate.constant_examples = blocks;
    return estimate;
  }
  const auto degrees = static_cast<double>(blocks - 1);
  estimate.example_degrees = blocks > 1 ? degrees : kManyDegrees;
  estimate.example_variance = estimate.mean * (1 - estimate.mean) / std::max(1.0, degrees);
  if (correct.size() == 1) return estimate;
  estimate.least_example_variance = 0;
  estimate.seed_degrees = s - 1;
  estimate.seed_variance =
      std::max(0.0, s * SumOfSquares(totals) - Square(total)) / Square(n * s) / (s - 1);
  return estimate;
}

}  // namespace lra
