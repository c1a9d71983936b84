// Examples whose tokens are guessed behind a prompt, judged as a whole: an example is right where
// all its targets are.
#ifndef LRA_EVAL_SEQUENCES_H_
#define LRA_EVAL_SEQUENCES_H_

#include "eval/sums.h"

namespace lra {

// The metric of both counts.
inline constexpr char kSequenceAccuracy[] = "sequence_accuracy";
// Counts of examples, in records of data that names its prompts: those with a target, and of these
// the ones whose targets were all guessed rightly.
inline constexpr char kSequences[] = "sequences";
inline constexpr char kExactSequences[] = "exact";

// Adds both counts of each example, by what `targets` and `correct` say of it, which must be of all
// its targets.
void CountSequences(ExampleSums* sums);

// Whether the sums have both counts. Those of older records have not.
bool HasSequences(const Sums& sums);

}  // namespace lra

#endif  // LRA_EVAL_SEQUENCES_H_
