// The matrix of scored examples by label and guess.
#ifndef LRA_EVAL_CONFUSION_H_
#define LRA_EVAL_CONFUSION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lra {

// Examples by label and guess [C, C], row-major: the row is the label. Guesses are those of the
// categorical scorer: the first of the largest of an example's logits [C]. Labels are 0 to C - 1.
// Empty for more than 64 classes, whose matrix would outweigh the rest of a record.
std::vector<int64_t> CountConfusion(absl::Span<const float> logits,
                                    absl::Span<const int32_t> labels, int classes);

}  // namespace lra

#endif  // LRA_EVAL_CONFUSION_H_
