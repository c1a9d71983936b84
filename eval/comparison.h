// Two rows on the same examples: the difference of their means, with interval and p.
//
//   const Estimate difference = UnpairedDifference(SumsOf(runs_a), SumsOf(runs_b));
//   const Interval interval = MeanInterval(difference, 0.95);
//   const double p = TwoSidedP(difference, 0);
#ifndef LRA_EVAL_COMPARISON_H_
#define LRA_EVAL_COMPARISON_H_

#include <cstdint>

#include "absl/types/span.h"
#include "eval/crossed.h"
#include "eval/statistics.h"

namespace lra {

// Mean of A less mean of B, of rows whose seeds have nothing in common. Seed variances add with
// Welch's degrees of freedom; examples are shared, so their variance is that of the difference of
// example means, less what seeds leave in it. A row of one run has no seed variance: the result is
// about that run. Needs equally many examples, in equally many blocks.
Estimate UnpairedDifference(const CrossedSums& a, const CrossedSums& b);

// The same of rows whose s-th runs share what the seed draws (the order of the data): the crossed
// engine on x = a - b. Worth it where seed effects correlate; only where that was decided before
// results were seen. Needs equally many runs, at least kLeastPairedSeeds.
inline constexpr int64_t kLeastPairedSeeds = 3;
Estimate PairedDifference(absl::Span<const ExampleValues> a, absl::Span<const ExampleValues> b,
                          int64_t block_examples = 1);

// The same where only means and variances of the rows are known, each from EstimateOfCounts or a
// single run's: the widest that these allow, since shared examples may count for or against either.
Estimate DifferenceOfEstimates(const Estimate& a, const Estimate& b);

// Examples on which the example means differ, or those of a difference are not 0, of sums without
// blocks. Rows that differ on fewer than kLeastDifferingExamples are not told apart, whatever p
// says.
inline constexpr int64_t kLeastDifferingExamples = 10;
int64_t DifferingExamples(const CrossedSums& a, const CrossedSums& b);
int64_t DifferingExamples(const CrossedSums& difference);

// Two single runs: examples that only A, or only B, has right.
struct Discordance {
  int64_t only_a = 0, only_b = 0, examples = 0;
};
Discordance DiscordanceOf(const ExampleValues& a, const ExampleValues& b);
// Where only the counts of right answers are known: as much disagreement as they allow, which gives
// the largest p and the widest interval.
Discordance WidestDiscordance(int64_t correct_a, int64_t correct_b, int64_t examples);

// Exact McNemar test, two-sided and one-sided ("A is not better"). It speaks of the two trained
// models, not of their methods (Dietterich, Neural Computation 10:1895, 1998).
double McNemarP(const Discordance& d);
double McNemarUpperP(const Discordance& d);
// The interval of the difference A - B: Bonett and Price, J. Educational and Behavioral Statistics
// 37:479 (2012). Its centre is the mean of the ends, not the difference itself, and it has a width
// also where the two runs agree on every example.
Interval BonettPriceInterval(const Discordance& d, double confidence);
// Its centre, and the variance that gives its width.
Estimate BonettPriceEstimate(const Discordance& d);

// Fisher's exact two-sided p that a runs of n_a and b of n_b trained by one common rate: the sum of
// all tables that are no more likely.
double FisherExactP(int64_t a, int64_t n_a, int64_t b, int64_t n_b);

}  // namespace lra

#endif  // LRA_EVAL_COMPARISON_H_
