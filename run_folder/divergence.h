// Errors for a loss, a gradient or an output that is not finite. They carry what a record says of
// it: the series and a search go on after them, and any other error ends both.
#ifndef LRA_RUN_FOLDER_DIVERGENCE_H_
#define LRA_RUN_FOLDER_DIVERGENCE_H_

#include "absl/status/status.h"
#include "eval/run_record.pb.h"

namespace lra {

// Older versions kept the message in this file of the stopped run's folder (or of its
// pretraining's) instead of a record: read, never written.
inline constexpr char kOldFailureFile[] = "failure.txt";

// An Internal error whose message is the cause.
absl::Status DivergedError(const RunFailure& failure);

bool HasDiverged(const absl::Status& status);

// What DivergedError() was made from; the status must have diverged.
RunFailure FailureOf(const absl::Status& status);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_DIVERGENCE_H_
