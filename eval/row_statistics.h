// A row's runs on one column's examples, and what the statistics say of them with what is known:
// every example's score, or only the counts, or only the runs' values.
#ifndef LRA_EVAL_ROW_STATISTICS_H_
#define LRA_EVAL_ROW_STATISTICS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "eval/comparison.h"
#include "eval/crossed.h"
#include "eval/metric.h"
#include "eval/power.h"

namespace lra {

// One run: the metric's value, and of each example where that is on record.
struct RunScores {
  double value = 0;
  std::shared_ptr<const ExampleValues> examples{};  // null: missing
};

// The runs of one row, one a seed, all on the same examples.
struct RowRuns {
  const Metric* metric = nullptr;
  int64_t examples = 0;  // at most as many as any run has scores of
  std::vector<RunScores> runs;
  // Examples that count as one, neighbours that depend on each other (CountBlocks in
  // eval/crossed.h); 1 = each by itself.
  int64_t block_examples = 1;

  int64_t count() const { return static_cast<int64_t>(runs.size()); }
  // Whether every run has its examples' scores, and there is a run.
  bool has_examples() const;
};

// The examples that a value rests on, of so many with these sums: without a target an example is no
// sequence.
int64_t CountedExamples(const Metric& metric, const Sums& sums, int64_t examples);

// What an interval or a p rests on.
enum class Basis {
  kExamples,  // the score of every example
  kCounts,    // counts of right answers: the widest that these allow
  kSeeds,     // the runs' values: nothing about examples is known
};

struct RowEstimate {
  Basis basis = Basis::kExamples;
  Estimate estimate;
  std::optional<CrossedMoments> moments;  // of kExamples
};
// nullopt where nothing can be said: one run of a metric without scores of examples. Of examples
// that are some of a split, `places` says where they stand in it, rising; none: they are its first.
std::optional<RowEstimate> EstimateRow(const RowRuns& row, absl::Span<const int64_t> places = {});
// The interval of the metric's value that the estimate gives, within the metric's range.
Interval RowInterval(const RowRuns& row, const RowEstimate& estimate, double confidence);
// A run of independent examples, whose count of right answers says all.
inline constexpr char kExactBinomial[] = "exact binomial";
// kExactBinomial, "examples of one run", "crossed", "crossed, bounded by counts", "seeds only": for
// programs.
std::string IntervalMethod(const RowRuns& row, const RowEstimate& estimate);

// A - B on the same examples, as the metric's value has it.
struct RowDifference {
  Basis basis = Basis::kExamples;
  Estimate estimate;
  Interval interval;
  double p = 1;
  // "unpaired", "paired", "McNemar", with what it rests on where that is not every example.
  std::string method;
  // Fewer than kLeastDifferingExamples are known to differ: not told apart.
  bool differs_on_too_few = false;
  // What the interval is made of where that is not `estimate`: Bonett and Price's of two runs.
  std::optional<Estimate> interval_estimate{};
  // What the interval is made of: equality within a margin is judged by it.
  const Estimate& shown_estimate() const {
    return interval_estimate ? *interval_estimate : estimate;
  }
};
struct DifferenceOptions {
  double confidence = 0.95;
  // Runs of equal place share their seed; needs scores of examples and equally many runs.
  bool is_paired = false;
};
// One run each of a proportion is compared by the exact McNemar test, unless examples stand in
// blocks. Rows that are compared have equal blocks. nullopt where nothing can be said.
std::optional<RowDifference> CompareRows(const RowRuns& a, const RowRuns& b,
                                         const DifferenceOptions& options);

// What a new comparison of these rows would have: variance components of each seed and example, for
// as many seeds as the smaller row has. nullopt of rows with fewer than two runs, or without scores
// of examples.
std::optional<Design> DesignOf(const RowRuns& a, const RowRuns& b, bool is_paired);

// Whether run `s` of `row` is singly above the baseline's one run (eval/learned.h); nullopt where
// that cannot be told.
std::optional<bool> RunIsAbove(const RowRuns& row, int64_t s, const RowRuns& baseline);
// One-sided p of "the row's mean is not better than the baseline"; nullopt where that cannot be
// told. `baseline` has one run.
std::optional<double> NotAboveP(const RowRuns& row, const RowRuns& baseline);

}  // namespace lra

#endif  // LRA_EVAL_ROW_STATISTICS_H_
