// Holds what is stored of examples whose tokens were guessed against what a run's checkpoint gives.
#ifndef LRA_EVAL_VERIFY_TOKEN_SCORES_H_
#define LRA_EVAL_VERIFY_TOKEN_SCORES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "eval/crossed.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"
#include "eval/sums.h"
#include "eval/verification.h"

namespace lra {

// The scores of some examples of a split, as ScoreSample() (eval/evaluator.h) makes them.
struct SampledScores {
  std::vector<int64_t> examples;      // indices in the split, in no particular order
  ExampleSums sums;                   // element i is of examples[i]
  std::vector<float> largest_logits;  // of examples[i], in size
};

// `values` are those that a metric's file holds, of all scored examples of a result with these
// sums.
struct StoredScores {
  const Metric& metric;
  const SplitResult& result;
  const ExampleValues& values;
};

// Compares them with what the sample gives and counts how each stands. Logits that are off by d, a
// part `rounding` of the largest one's size (at least 1), move the nats of a target that has the
// probability p by at most 2 d (1 - p) + d d, and turn an example that is right or wrong as a whole
// only where it has ln 2 - d nats. What that does not explain is a change of `path` that names the
// example, as is an example that is not stored; of many, the first ten are named. Returns whether
// all stored examples were in the sample, and equal bit for bit.
bool CompareTokenScores(const std::string& path, const StoredScores& stored,
                        const SampledScores& remade, double rounding, Verification* verification);

// "; example 7: holds 0.5, the checkpoint gives 0.25": the first of the sample that rounding does
// not explain; empty where there is none.
std::string PlaceInTokenScores(const StoredScores& stored, const SampledScores& remade,
                               double rounding);

}  // namespace lra

#endif  // LRA_EVAL_VERIFY_TOKEN_SCORES_H_
