// Steps of a stage as graphs (models/base/device_graph.h): forward, loss, backward, clipping and
// update of a whole batch are captured once for each shape and then asked for by one call. What
// changes from step to step lies on the device: the batch, what its loss is divided by, the step's
// number, which keys dropout, the learning rates and the share of an average of the weights.
#ifndef LRA_TRAIN_STEP_GRAPHS_H_
#define LRA_TRAIN_STEP_GRAPHS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/base/device_graph.h"
#include "models/base/upload_slots.h"
#include "train/objective.h"
#include "train/run.h"

namespace lra {

// InvalidArgument for a TrainRequest::graphs that is none of auto, on and off, and for "on" where
// the device has no graphs.
absl::Status CheckGraphs(absl::string_view graphs, at::Device device);

class StepGraphs {
 public:
  // Steps of a shape that are taken operator by operator before one is captured: what is made once
  // is made then, on the same stream.
  static constexpr int64_t kWarmUpSteps = 3;
  // The most graphs that are kept. Another shape replaces the one that is used least once it is
  // used twice as often.
  static constexpr size_t kMostGraphs = 32;

  // nullptr where the run's steps are not to be repeated, or cannot be. With --graphs on, standard
  // error has the reason unless the run is quiet. The arguments must outlive the object.
  static std::unique_ptr<StepGraphs> Create(const Run& run, const Stage& stage,
                                            UploadSlots* uploads, size_t most_graphs = kMostGraphs);

  // A step that nobody waits for.
  struct Asked {
    BatchResult result;
    at::Tensor gradient_norm;  // float64 [] on the device
    bool is_repeated = false;
  };
  // Updates the weights as Objective::AddGradient and Optimizer::StepOnDevice do; statistics of
  // steps that fail are void with them. Once the device refuses a capture there is none any more; a
  // warning has the reason.
  absl::StatusOr<Asked> Take(const HostBatch& batch, int64_t step, const ScheduleValue& schedule);

  int64_t captures() const { return captures_; }

 private:
  // What a step leaves on the device.
  struct Outputs {
    at::Tensor tally, gradient_norm;
  };
  struct Shape {
    int64_t uses = 0;
    at::Tensor block;  // the inputs, which a replay fills
    std::vector<at::Tensor> inputs;
    Outputs outputs;
    std::unique_ptr<DeviceGraphs::Graph> graph;
  };
  StepGraphs(const Stage& stage, UploadSlots* uploads, std::unique_ptr<DeviceGraphs> graphs,
             size_t most_graphs);

  Outputs Compute(const HostBatch& batch, const std::vector<at::Tensor>& inputs,
                  const ScheduleValue& schedule) const;
  bool MayCapture(const Shape& shape);
  void Capture(const HostBatch& batch, const std::vector<at::Tensor>& on_host,
               const ScheduleValue& schedule, Shape* shape);
  Outputs Replay(Shape* shape) const;

  const Stage& stage_;
  const WholeBatchWork& work_;
  UploadSlots* const uploads_;
  const std::unique_ptr<DeviceGraphs> graphs_;
  const size_t most_graphs_;
  bool is_refused_ = false;
  int64_t captures_ = 0;
  std::map<std::string, Shape> shapes_;  // by what makes two steps alike
};

}  // namespace lra

#endif  // LRA_TRAIN_STEP_GRAPHS_H_
