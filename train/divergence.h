// Errors that say that a loss or a gradient was not finite: a search goes on after them.
#ifndef LRA_TRAIN_DIVERGENCE_H_
#define LRA_TRAIN_DIVERGENCE_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace lra {

inline constexpr char kDivergedPayload[] = "lra/diverged";
// In the folder of a run (or of its pretraining) that ended so: the message.
inline constexpr char kFailureFile[] = "failure.txt";

// Internal, marked.
inline absl::Status DivergedError(absl::string_view message) {
  absl::Status status = absl::InternalError(message);
  status.SetPayload(kDivergedPayload, absl::Cord());
  return status;
}

inline bool HasDiverged(const absl::Status& status) {
  return status.GetPayload(kDivergedPayload).has_value();
}

}  // namespace lra

#endif  // LRA_TRAIN_DIVERGENCE_H_
