// Work of a device that is recorded once and then asked for by a single call: CUDA graphs, through
// the library that is built with -DLRA_CUDA=ON (models/base/cuda_graph.h), and their stand-in on
// the fake device.
#ifndef LRA_MODELS_BASE_DEVICE_GRAPH_H_
#define LRA_MODELS_BASE_DEVICE_GRAPH_H_

#include <c10/core/Device.h>

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace lra {

// Graphs of one device that share their memory: they must be replayed one after the other, on the
// stream on which they were captured.
class DeviceGraphs {
 public:
  class Graph {
   public:
    virtual ~Graph() = default;
    // Asks the device for all of the work, which reads and writes the memory that it did when it
    // was captured. Throws c10::Error.
    virtual void Replay() = 0;
  };

  // Unavailable, with the reason, where the device has no graphs.
  static absl::StatusOr<std::unique_ptr<DeviceGraphs>> Create(at::Device device);
  virtual ~DeviceGraphs() = default;

  // Calls `work` once, which asks the device for things on the calling thread's stream (not the
  // default one): they are recorded, not done. `work` may neither read from the device, nor copy
  // to it, nor wait for it, and whatever it takes of the host stays as it is now. It must have run
  // before, so that what is made once is there. Throws c10::Error if the device refuses; then
  // nothing is recorded, and what `work` changed of the host stays changed.
  virtual std::unique_ptr<Graph> Capture(absl::FunctionRef<void()> work) = 0;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_DEVICE_GRAPH_H_
