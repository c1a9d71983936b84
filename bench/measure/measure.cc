#include "bench/measure/measure.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "bench/measure/counting_allocator.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"

namespace lra {
namespace {

absl::Status Dispatch(const BenchRequest& request, BenchResult* result) {
  LRA_RETURN_IF_ERROR(StartRuntime(request.threads(), request.kernels()));
  if (request.scope() == BenchRequest::MACHINE)
    return internal::MeasureMachinePeaks(request, result);
  if (request.mode() == BenchRequest::STREAMING) return internal::MeasureStreaming(request, result);
  return request.scope() == BenchRequest::OPERATOR ? internal::MeasureOperator(request, result)
                                                   : internal::MeasureStep(request, result);
}

BenchResult::Outcome OutcomeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return BenchResult::MEASURED;
    case absl::StatusCode::kResourceExhausted:
      return BenchResult::OUT_OF_MEMORY;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return BenchResult::REFUSED;
    default:
      return BenchResult::FAILED;
  }
}

}  // namespace

BenchResult MeasureCell(const BenchRequest& request) {
  CountTensorBytes(request.budget_bytes());
  BenchResult result;
  const absl::Status status = CatchTorch([&] { return Dispatch(request, &result); });
  if (status.ok()) return result;
  BenchResult failed;
  failed.set_outcome(OutcomeOf(status));
  failed.set_reason(std::string(status.message()));
  if (failed.outcome() == BenchResult::OUT_OF_MEMORY && request.budget_bytes() > 0)
    failed.set_reason(absl::StrCat("above ", FormatBytes(request.budget_bytes()), " of tensors"));
  return failed;
}

}  // namespace lra
