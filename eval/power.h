// What a comparison can see: equality within a margin, and power.
#ifndef LRA_EVAL_POWER_H_
#define LRA_EVAL_POWER_H_

#include <cstdint>
#include <optional>

#include "eval/crossed.h"

namespace lra {

// Two one-sided tests (Schuirmann, 1987). The margin is stated before results are seen.
struct Equivalence {
  Interval interval;  // of confidence 1 - 2 alpha
  double p = 1;       // the larger of the two one-sided ones
  bool is_equivalent = false;
};
// "The difference lies within +- margin", at level alpha. margin > 0.
Equivalence TestEquivalence(const Estimate& difference, double margin, double alpha = 0.05);

// Variance components of a difference, each of single values: of seeds, of examples and of the
// rest. Of examples in blocks on record (eval/crossed.h) the last two are the blocks' times what a
// block holds: n examples planned are as many blocks as n on record were.
struct DifferenceComponents {
  double seeds = 0;     // sigma_s^2
  double examples = 0;  // sigma_e^2
  double rest = 0;      // sigma_r^2
};

// The components of a paired difference on record.
DifferenceComponents ComponentsOf(const CrossedMoments& paired_difference);
// Without a record: the seeds' standard deviation, and the share of examples on which two runs
// disagree, half of which is taken for examples and half for the rest.
DifferenceComponents AssumedComponents(double seed_deviation, double disagreement);

// A planned comparison of rows of S seeds on n examples.
struct Design {
  DifferenceComponents components;
  int64_t examples = 0;
  double seeds = 0;  // of each row; infinity: without end
  // Degrees of freedom of the seeds' variance are (S - 1) times this: 1 for paired rows, up to 2
  // for unpaired ones (Welch).
  double degrees_per_seed = 1;
  // Examples a block on record, 1 where each counts by itself: n of them have n over this, less 1,
  // degrees of freedom. 0, where nothing is on record: the normal quantile.
  double block_examples = 0;
};

// The design of an unpaired comparison like one on record: both rows' components and degrees of
// freedom, for S seeds a row on n examples. Both rows have at least two runs, on the same examples.
Design UnpairedDesign(const CrossedSums& a, const CrossedSums& b, int64_t examples, double seeds);

// The probability that a true difference is told from 0 at level 1 - confidence. Seeds, and blocks
// of examples, may be few: what a comparison takes for their variances varies around them.
double Power(const Design& design, double difference, double confidence = 0.95);
// The same for variances of the mean that are on record: what an existing comparison would have
// seen. Its means are not read.
double PowerOf(const Estimate& estimate, double difference, double confidence = 0.95);

// The smallest difference that is told from 0 with this power; nullopt if none up to `largest` is
// (Metric::LargestDifference), and where nothing varied, which says nothing of what would have been
// seen.
std::optional<double> SmallestDifference(const Design& design, double power,
                                         double confidence = 0.95, double largest = 1);
std::optional<double> SmallestDifferenceOf(const Estimate& estimate, double power,
                                           double confidence = 0.95, double largest = 1);

// The least S from 2 on, and the least n, that suffice; nullopt if 10,000 seeds, or 10^9 examples,
// do not.
std::optional<int64_t> SeedsNeeded(const Design& design, double difference, double power,
                                   double confidence = 0.95);
std::optional<int64_t> ExamplesNeeded(const Design& design, double difference, double power,
                                      double confidence = 0.95);

}  // namespace lra

#endif  // LRA_EVAL_POWER_H_
