// What a device does by itself: the host may wait for it and ask for its memory. The CPU does
// nothing by itself, and its memory is the process's (eval/machine.h).
#ifndef LRA_MODELS_BASE_DEVICE_WORK_H_
#define LRA_MODELS_BASE_DEVICE_WORK_H_

#include <c10/core/Device.h>
#include <c10/core/StreamGuard.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace lra {

// Returns when the device has done all that it was asked for; at once on the CPU. Errors of the
// device pass through as LibTorch's exceptions, here and below.
void WaitFor(at::Device device);

// While it lives, the calling thread asks the device for its work on a stream of its own, which
// begins when all that was asked for before is done; its end waits for that work. Does nothing on
// the CPU. Scopes of one thread nest.
class StreamScope {
 public:
  explicit StreamScope(at::Device device);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  const at::Device device_;
  std::optional<c10::StreamGuard> guard_;
};

// Memory that is free for this process on the device: what the driver has, and what LibTorch holds
// without using it. Nothing for the CPU and the fake device.
std::optional<int64_t> FreeDeviceBytes(at::Device device);

// The largest sum of the bytes of tensors on the device since the process began or
// ResetPeakDeviceBytes(). Nothing for the CPU and the fake device.
std::optional<int64_t> PeakDeviceBytes(at::Device device);
// The bytes of tensors that are on the device now.
std::optional<int64_t> LiveDeviceBytes(at::Device device);
void ResetPeakDeviceBytes(at::Device device);

// "NVIDIA H100 80GB HBM3, compute capability 9.0"; "fake"; empty for the CPU.
std::string DescribeDevice(at::Device device);

// Whether LibTorch's float32 products and convolutions on CUDA round their factors to TF32 (10 bits
// of fraction), for the whole process. Nobody else decides: left alone, LibTorch does so in
// convolutions.
void SetTf32(bool is_on);
bool IsTf32On();
// The same for training; InvalidArgument where it is on and the device is not CUDA.
absl::Status SetTf32For(bool is_on, at::Device device);

}  // namespace lra

#endif  // LRA_MODELS_BASE_DEVICE_WORK_H_
