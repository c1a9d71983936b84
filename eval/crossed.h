// The mean of a matrix x [S, n] of S seeds and n examples, both of them samples: crossed random
// effects. Values are 0 or 1 (right or wrong), differences of two rows, or contrasts of several.
//
//   const CrossedMoments moments = MomentsOf(SumsOf(runs));     // runs: S vectors of n values
//   const Interval interval = ProportionInterval(moments, 0.95);   // values 0 or 1
//   const double p = TwoSidedP(EstimateOf(moments), 0);             // "the mean is 0"
//
// The interval covers new seeds and new examples at once. Its multiplier slides from the normal
// quantile, where examples dominate, to Student's, where seeds do (Cochran, Biometrics 20:191,
// 1964). Assumed: a seed draws everything random anew, and examples are independent, or blocks of
// neighbours are (CountBlocks).
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

// Neighbours in data-set order may depend on each other, as the pieces of one text do. Then blocks
// of so many neighbours take the place of examples (batch means; Kuensch, Annals of Statistics
// 17:1217, 1989). This is the number B of blocks of n examples, the last of which may be shorter:
// n, each example a block, where there would be fewer than two. block_examples >= 1.
int64_t CountBlocks(int64_t examples, int64_t block_examples);

// A run's value of each block, of which the run's mean a is the mean: a block of t of n examples
// with the sum T has a + B / n (T - t a), which is its own mean where blocks are equal.
ExampleValues BlockValues(const ExampleValues& run, int64_t block_examples);

// All that the engine reads of x. Sums of whole numbers are exact where each example is a block.
struct CrossedSums {
  std::vector<double> seed_totals;     // [S]: sum over blocks
  std::vector<double> example_totals;  // [B]: sum over seeds
  double squares = 0;                  // sum of x^2
  int64_t examples = 0;                // n
  int64_t seeds() const { return static_cast<int64_t>(seed_totals.size()); }
  int64_t blocks() const { return static_cast<int64_t>(example_totals.size()); }
};

// Needs at least one run and one example, and runs of equal length.
CrossedSums SumsOf(absl::Span<const ExampleValues> runs, int64_t block_examples = 1);

// Mean squares of the two-way layout without replication, in the unit of single examples: of B
// blocks they are n / B times those of the blocks' values, so that a mean of n examples has the
// variances below whatever the blocks.
struct CrossedMoments {
  int64_t seeds = 0;     // S
  int64_t examples = 0;  // n
  int64_t blocks = 0;    // B; n where each example is one
  double mean = 0;
  double msa = 0;  // between seeds: n sum_s (a_s - m)^2 / (S - 1); 0 for one seed
  double msb = 0;  // between blocks: (n / B) S sum_i (b_i - m)^2 / (B - 1); 0 for one block
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
  // Set where all of x is one value, to the number of examples, or of their blocks: variances are 0
  // then and say nothing, so half width and p follow from this number alone.
  std::optional<int64_t> constant_examples;
  // How many blocks of neighbours took the place of examples; 0: each example counts by itself, or
  // nothing is known of examples.
  int64_t blocks = 0;
};

Estimate EstimateOf(const CrossedMoments& moments);

// The mean's variance holds what is left beside seeds and examples, whose estimate MSE / (n S) is a
// far better one than MSA: where few seeds have almost equal totals by luck, the variance of
// examples is raised until both together are no less.
void RaiseToResidual(double residual_variance, Estimate* estimate);

// The same with a variance of examples in place of `constant_examples`, which has the half width
// that these give at 95 %: for sums of estimates, which would lose them.
Estimate WithVariance(const Estimate& estimate);

// The one whose examples scatter by more. Where two classes take turns, what a row leans to cancels
// in blocks, which would say that this cannot be otherwise.
Estimate WiderOf(const Estimate& blocks, const Estimate& singly);
// The same of the runs' values: by their blocks, or by single ones where these scatter by more.
CrossedMoments MomentsOfRuns(absl::Span<const ExampleValues> runs, int64_t block_examples);

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
// runs, exactly the binomial interval of the n examples where these are no blocks. Lies in [0, 1].
Interval ProportionInterval(const Estimate& estimate, int64_t examples, double confidence);
Interval ProportionInterval(const CrossedMoments& moments, double confidence);

// What is known of a proportion where only the counts of runs are: `correct` of each of S runs, out
// of n examples. The seeds' part is exact; the examples' variance is at most that of equal runs, in
// blocks that are all right or all wrong.
Estimate EstimateOfCounts(absl::Span<const int64_t> correct, int64_t examples,
                          int64_t block_examples = 1);

}  // namespace lra

#endif  // LRA_EVAL_CROSSED_H_
