// Runs that failed, and averages over tasks. No interval can cover the mean over all runs from the
// seeds that happened to train, so three things are said: the score of the runs that trained (the
// cell), how often runs train, and the mean over all runs with each failure scored as guessing.
#ifndef LRA_EVAL_ALL_RUNS_H_
#define LRA_EVAL_ALL_RUNS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "eval/crossed.h"
#include "eval/statistics.h"

namespace lra {

// k trained runs of S, with at least one of each kind of number: 0 <= k <= S, S >= 1.
struct LearnRate {
  int64_t trained = 0;
  int64_t runs = 0;
  double rate() const { return static_cast<double>(trained) / static_cast<double>(runs); }
};

// A task's part in an average: the runs that trained and, where some run of the column failed, how
// many did, and what a failure counts for (the value of the majority class).
struct TaskPart {
  Estimate trained;
  struct Failures {
    LearnRate learn_rate;
    double guessing = 0;
  };
  std::optional<Failures> failures;
  // A proportion's interval stays in [0, 1]; an average's does where all parts are proportions.
  bool is_proportion = false;
};

struct MeanOfAll {
  double mean = 0;
  Interval interval;
  // Degrees of freedom of the seeds' part.
  double degrees = kManyDegrees;
};

// theta = c + (k/S)(m - c), where failures count c. The interval's arms add the trained runs' half
// width and Clopper-Pearson's of k/S in squares. Needs k >= 1.
MeanOfAll AllRunsMean(const TaskPart& part, double confidence);

// The mean over T tasks of equal weight, the tasks fixed, with Welch's degrees of freedom of seeds
// and of examples, which tasks do not share. Parts with failures enter with their all-runs mean.
MeanOfAll AverageOverTasks(absl::Span<const TaskPart> parts, double confidence);

// The same of single estimates, as one: for differences of averages, whose parts are differences.
Estimate AverageEstimate(absl::Span<const Estimate> parts);

}  // namespace lra

#endif  // LRA_EVAL_ALL_RUNS_H_
