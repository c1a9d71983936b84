// Blocks of neighbours (eval/crossed.h) where only some examples of a split are looked at, as in a
// stratum of a profile. The blocks are those of the split, each with the examples that it has of
// these: cut from these alone, a block would span many that lie between them, and few blocks would
// be left. They are of unlike size then, and the mean is a quotient of sums over blocks, whose
// variance is that of its linearisation (Cochran, Sampling Techniques, 1977, 6.4).
#ifndef LRA_EVAL_STRATUM_BLOCKS_H_
#define LRA_EVAL_STRATUM_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "eval/crossed.h"

namespace lra {

// How many examples each block has: CountBlocks() sizes of a whole split, whose last may be less.
std::vector<int64_t> EqualBlocks(int64_t examples, int64_t block_examples);
// The same of chosen examples, by their places in the split, which rise, and of the blocks that
// have any. Each example is a block where fewer than two have.
std::vector<int64_t> SizesOfBlocks(absl::Span<const int64_t> places, int64_t block_examples);

// BlockValues() of blocks of these sizes, which sum to the run's n examples.
ExampleValues ValuesOfBlocks(const ExampleValues& run, absl::Span<const int64_t> sizes);
// MomentsOfRuns() of blocks of these sizes, or of single ones where these scatter by more.
CrossedMoments MomentsOfBlocks(absl::Span<const ExampleValues> runs,
                               absl::Span<const int64_t> sizes);

}  // namespace lra

#endif  // LRA_EVAL_STRATUM_BLOCKS_H_
