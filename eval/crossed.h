// The mean of a matrix x [S, n] of S seeds and n examples, both of them samples: crossed random
// effects. Values are 0 or 1 (right or wrong), differences of two rows, or contrasts of several.
//
//   const CrossedMoments moments = MomentsOf(SumsOf(runs));     // runs: S vectors of n values
//   const Interval interval = ProportionInterval(moments, 0.95);   // values 0 or 1
//   const double p = TwoSidedP(EstimateOf(moments), 0);             // "the mean is 0"
//
// The interval covers new seeds and new examples at once. Its multiplier slides from the normal
// quantile, where examples dominate, to Student's, where seeds do (Cochran, Biometrics 20:191,
// 1964). Assumed: a seed draws everything random anew, and examples are independent.
#ifndef LRA_EVAL_CROSSED_H_
#define LRA_EVAL_CROSSED_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "eval/statistics.h"

namespace lra {

// One run's value of each of n examples, in data-set order.
using ExampleValues = std::vector<double>;

// All that the engine reads of x. Sums of whole numbers are exact.
struct CrossedSums {
  std::vector<double> seed_totals;     // [S]: sum over examples
  std::vector<double> example_totals;  // [n]: sum over seeds
  double squares = 0;                  // sum of x^2
  int64_t seeds() const { return static_cast<int64_t>(seed_totals.size()); }
  int64_t examples() const { return static_cast<int64_t>(example_totals.size()); }
};

// Needs at least one run and one example, and runs of equal length.
CrossedSums SumsOf(absl::Span<const ExampleValues> runs);

// Mean squares of the two-way layout without replication.
struct CrossedMoments {
  int64_t seeds = 0;     // S
  int64_t examples = 0;  // n
  double mean = 0;
  double msa = 0;  // between seeds: n sum_s (a_s - m)^2 / (S - 1); 0 for one seed
  double msb = 0;  // between examples: S sum_i (b_i - m)^2 / (n - 1); 0 for one example
  double mse = 0;  // of the rest, cut at 0; 0 for one seed
  // Whether all of x is one value.
  bool is_constant = false;

  double seed_variance() const;     // of the mean: MSA / (n S)
  double example_variance() const;  // of the mean: max(0, MSB - MSE) / (n S)
};

CrossedMoments MomentsOf(const CrossedSums& sums);

inline constexpr double kManyDegrees = std::numeric_limits<double>::infinity();

// A mean and the two variances of it. Differences, contrasts and averages are made of these, too.
struct Estimate {
  double mean = 0;
  double seed_variance = 0;
  double seed_degrees = kManyDegrees;  // infinity: the normal quantile
  double example_variance = 0;
  double example_degrees = kManyDegrees;
  // Set where per-example results are missing: the example variance lies between this and
  // `example_variance`, and half widths are the largest of that range.
  std::optional<double> least_example_variance;
  // Set where all of x is one value, to the number of examples: variances are 0 then and say
  // nothing, so half width and p follow from the number of examples alone.
  std::optional<int64_t> constant_examples;
};

Estimate EstimateOf(const CrossedMoments& moments);

// The same where examples come in groups (reviews of one film; Miller, arXiv 2411.00640, 2024):
// group[i] is the group of example i, any number. Groups of one give EstimateOf().
Estimate GroupedEstimateOf(const CrossedSums& sums, absl::Span<const int64_t> group);

// h with mean +- h the interval: (v_seed t + v_example u) / sqrt(v_seed + v_example), t and u
// Student's quantiles at (1 + confidence) / 2. 0 < confidence < 1.
double HalfWidth(const Estimate& estimate, double confidence);
Interval MeanInterval(const Estimate& estimate, double confidence);

// The p at which the interval of confidence 1 - p ends at `value`: interval and p always agree.
// For a constant x: 1 where it is `value`, else two-sided by the binomial. At least 1e-300.
double TwoSidedP(const Estimate& estimate, double value);
// One-sided p of "the mean is at most `value`".
double UpperP(const Estimate& estimate, double value);

// The number of independent examples whose binomial sampling is as wide as the estimate: Korn and
// Graubard, Survey Methodology 24:193 (1998). `examples` is n; the mean lies in [0, 1].
double EffectiveExamples(const Estimate& estimate, int64_t examples, double confidence);

// The interval of a proportion: Clopper-Pearson at EffectiveExamples. For one run, and for equal
// runs, exactly the binomial interval of the n examples. Lies in [0, 1].
Interval ProportionInterval(const Estimate& estimate, int64_t examples, double confidence);
Interval ProportionInterval(const CrossedMoments& moments, double confidence);

// What is known of a proportion where only the counts of runs are: `correct` of each of S runs, out
// of n examples. The seeds' part is exact; the examples' variance is at most that of equal runs.
Estimate EstimateOfCounts(absl::Span<const int64_t> correct, int64_t examples);

}  // namespace lra

#endif  // LRA_EVAL_CROSSED_H_
