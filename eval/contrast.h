// Effects of a designed ablation: contrasts of matched cells, each computed for every seed and
// example, so that whatever cells share drops out (paired seeds).
#ifndef LRA_EVAL_CONTRAST_H_
#define LRA_EVAL_CONTRAST_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "eval/crossed.h"

namespace lra {

// One cell of the grid with its weight: runs by seed index, an empty vector where that run failed.
struct WeightedCell {
  double weight = 0;
  std::vector<ExampleValues> runs;
};

struct Contrast {
  Estimate estimate;
  // Seed indices at which some cell has no run: they are dropped from the contrast.
  std::vector<int64_t> dropped_seeds;
  // Examples whose mean over seeds is not 0: of fewer than kLeastDifferingExamples the contrast is
  // not told apart from 0, whatever p says.
  int64_t differing_examples = 0;
};

// The engine on x[s, i] = sum over cells of weight * y[s, i]. A main effect has weights 1/p for the
// level and -1/p for the reference in p matched pairs; an interaction of two factors +1, -1, -1,
// +1. All cells have equally many seed indices, their runs equally many examples, and at least one
// index has all runs.
Contrast ContrastOf(absl::Span<const WeightedCell> cells, int64_t block_examples = 1);

// An effect over tasks is AverageEstimate() of the tasks' contrasts (eval/all_runs.h); task x
// factor is the difference of two tasks' contrasts, whose examples are not shared.
Estimate DifferenceOfTasks(const Estimate& a, const Estimate& b);

}  // namespace lra

#endif  // LRA_EVAL_CONTRAST_H_
