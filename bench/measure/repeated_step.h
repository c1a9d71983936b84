// The step of a StepModel as a graph, as training repeats it on a device (train/step_graphs.h): the
// batch, the step's number and the rates are uploaded, and all else is asked for by one call.
#ifndef LRA_BENCH_MEASURE_REPEATED_STEP_H_
#define LRA_BENCH_MEASURE_REPEATED_STEP_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/measure/step_model.h"
#include "models/base/device_graph.h"
#include "models/base/device_work.h"
#include "models/base/upload_slots.h"

namespace lra {

class RepeatedStep {
 public:
  // Takes some steps, then records one. The model must outlive it. Unavailable, with the reason,
  // where the device has no graphs. Throws as LibTorch does.
  static absl::StatusOr<std::unique_ptr<RepeatedStep>> Create(StepModel* model);
  // Does not wait for the device.
  void Take();

 private:
  RepeatedStep(StepModel* model, std::unique_ptr<DeviceGraphs> graphs);
  std::vector<at::Tensor> OnHost();
  void Compute(const std::vector<at::Tensor>& inputs);

  StepModel& model_;
  const StreamScope stream_;
  const std::unique_ptr<DeviceGraphs> graphs_;
  UploadSlots uploads_;
  int64_t step_ = 0;
  at::Tensor block_;  // the inputs, which a replay reads
  std::unique_ptr<DeviceGraphs::Graph> graph_;
};

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_REPEATED_STEP_H_
