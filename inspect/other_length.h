// A trained model on inputs of another length than it was trained for.
#ifndef LRA_INSPECT_OTHER_LENGTH_H_
#define LRA_INSPECT_OTHER_LENGTH_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datasets/split_view.h"
#include "models/classifier.h"

namespace lra {

// OK where `longer`, made for another longest input, answers as `own` does to the split's first
// examples as `own` reads them: it is the same function on what both can read. InvalidArgument
// otherwise, as where an attention takes its sizes from view.max_length_tokens (cosFormer's M).
absl::Status CheckIsSameModel(const Classifier& own, const Classifier& longer,
                              const SplitView& as_own_reads, int64_t max_length_tokens);

}  // namespace lra

#endif  // LRA_INSPECT_OTHER_LENGTH_H_
