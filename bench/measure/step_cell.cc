#include <cstdint>

#include "bench/measure/counting_allocator.h"
#include "bench/measure/kernels_cell.h"
#include "bench/measure/measure.h"
#include "bench/measure/passes.h"
#include "bench/measure/repeated_step.h"
#include "bench/measure/step_model.h"
#include "lra/status_macros.h"
#include "models/base/device_work.h"
#include "models/size_estimate.h"

namespace lra::internal {
namespace {

// Weights, and in training their gradients, moments and what the blocks keep for the backward.
absl::StatusOr<int64_t> MinimumBytes(const BenchRequest& request, const StepModel& model) {
  LRA_ASSIGN_OR_RETURN(const SizeEstimate size,
                       EstimateSize(model.config(), StepTask(), request.tokens()));
  if (request.mode() == BenchRequest::FORWARD) return size.weight_bytes;
  return size.training_bytes + size.activation_bytes * request.batch();
}

}  // namespace

absl::Status MeasureStep(const BenchRequest& request, BenchResult* result) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<StepModel> model, StepModel::Create(request));
  LRA_ASSIGN_OR_RETURN(const int64_t minimum, MinimumBytes(request, *model));
  const int64_t standing = LiveTensorBytes();
  std::unique_ptr<RepeatedStep> repeated;
  if (request.repeats()) {
    LRA_ASSIGN_OR_RETURN(repeated, RepeatedStep::Create(model.get()));
  }
  const auto pass = [&] {
    if (request.mode() == BenchRequest::FORWARD)
      model->Evaluate();
    else
      repeated != nullptr ? repeated->Take() : model->Train();
    WaitFor(model->device());
  };
  MeasurePasses(request, pass, result);
  BenchPasses* passes = result->mutable_passes();
  passes->set_peak_bytes(passes->peak_bytes() + standing);
  result->set_batch(request.batch());
  result->set_weight_bytes(model->parameters().count() * static_cast<int64_t>(sizeof(float)));
  result->set_minimum_bytes(minimum);
  result->set_device(DescribeDevice(model->device()));
  result->set_peak_device_bytes(PeakDeviceBytes(model->device()).value_or(0));
  if (!request.profiles()) return absl::OkStatus();
  return model->device().is_cpu() ? MeasurePieces(request, result)
                                  : MeasureKernels(model.get(), result->mutable_device_profile());
}

}  // namespace lra::internal
