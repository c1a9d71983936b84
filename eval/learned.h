// Whether runs trained at all, and whether a method learned more than the baselines know.
#ifndef LRA_EVAL_LEARNED_H_
#define LRA_EVAL_LEARNED_H_

#include <cstdint>

#include "absl/types/span.h"
#include "eval/comparison.h"
#include "eval/crossed.h"

namespace lra {

// A run is above a baseline, the majority class for one, if the exact one-sided McNemar test on the
// same examples says so at this level. By a metric that is no proportion, and of examples in
// blocks, it is if the one-sided p of its paired differences is below it (RunIsAbove in
// eval/row_statistics.h).
inline constexpr double kAboveLevel = 0.005;
inline bool IsAbove(const Discordance& run_against_baseline) {
  return McNemarUpperP(run_against_baseline) < kAboveLevel;
}

// What tells whether the method's mean is above the baseline's: the crossed engine on x = y - z,
// where z are the baseline's values of the same examples. Needs at least one run.
Estimate AboveBaseline(absl::Span<const ExampleValues> runs, const ExampleValues& baseline,
                       int64_t block_examples = 1);

// The level of "learned" over all cells of a table (Holm).
inline constexpr double kLearnedLevel = 0.025;
// A cell has learned if its p, corrected over the table, is at most kLearnedLevel, and if at least
// half of its runs are above singly. One run never shows what a method does.
inline bool HasLearned(double corrected_p, int64_t above, int64_t runs) {
  return runs > 1 && corrected_p <= kLearnedLevel && 2 * above >= runs;
}

}  // namespace lra

#endif  // LRA_EVAL_LEARNED_H_
