// Logits in half the bytes, which guess what they guessed before.
#ifndef LRA_EVAL_HALF_LOGITS_H_
#define LRA_EVAL_HALF_LOGITS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/half.h"

namespace lra {

// Rounds logits [examples, classes]. Where rounding would make an earlier class as large as the
// guessed one (the first of the largest), that class gets the next smaller number, so that whoever
// scores the rounded logits counts the same right answers. Infinities and NaN stay. OutOfRange for
// a finite logit beyond 65,504 names `where`, row, class and value.
absl::StatusOr<std::vector<Half>> HalfLogits(absl::string_view where,
                                             absl::Span<const float> logits, int classes);

}  // namespace lra

#endif  // LRA_EVAL_HALF_LOGITS_H_
