// Errors for a loss or gradient that is not finite. They are marked, because a search continues
// after them.
#ifndef LRA_RUN_FOLDER_DIVERGENCE_H_
#define LRA_RUN_FOLDER_DIVERGENCE_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace lra {

inline constexpr char kDivergedPayload[] = "lra/diverged";
// Name of the file in the folder of a diverged run (or of its pretraining) that holds the message.
inline constexpr char kFailureFile[] = "failure.txt";

// An Internal error with the mark.
inline absl::Status DivergedError(absl::string_view message) {
  absl::Status status = absl::InternalError(message);
  status.SetPayload(kDivergedPayload, absl::Cord());
  return status;
}

inline bool HasDiverged(const absl::Status& status) {
  return status.GetPayload(kDivergedPayload).has_value();
}

}  // namespace lra

#endif  // LRA_RUN_FOLDER_DIVERGENCE_H_
