#include "run_folder/divergence.h"

#include <string>

#include "absl/strings/cord.h"
#include "lra/check.h"

namespace lra {
namespace {

constexpr char kPayload[] = "lra/diverged";

}  // namespace

absl::Status DivergedError(const RunFailure& failure) {
  absl::Status status = absl::InternalError(failure.cause());
  status.SetPayload(kPayload, absl::Cord(failure.SerializeAsString()));
  return status;
}

bool HasDiverged(const absl::Status& status) { return status.GetPayload(kPayload).has_value(); }

RunFailure FailureOf(const absl::Status& status) {
  LRA_CHECK(HasDiverged(status));
  RunFailure failure;
  LRA_CHECK(failure.ParseFromString(std::string(*status.GetPayload(kPayload))));
  return failure;
}

}  // namespace lra
