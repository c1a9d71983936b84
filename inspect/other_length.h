// A trained model on inputs of another length than it was trained for.
#ifndef LRA_INSPECT_OTHER_LENGTH_H_
#define LRA_INSPECT_OTHER_LENGTH_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datasets/split_view.h"
#include "models/classifier.h"

namespace lra {

// OK where `longer`, made for another longest input, answers as `own` does to the split's first
// examples that both read in full: it is the same function there. InvalidArgument otherwise, as
// where an attention takes its sizes from view.max_length_tokens (cosFormer's M), or where padding
// counts.
absl::Status CheckIsSameModel(const Classifier& own, const Classifier& longer,
                              const SplitView& as_own_reads, const SplitView& as_longer_reads);

}  // namespace lra

#endif  // LRA_INSPECT_OTHER_LENGTH_H_
