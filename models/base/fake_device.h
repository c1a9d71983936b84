// A device that stands in for a GPU where there is none: LibTorch's PrivateUse1, named "fake". Its
// memory is the host's and the host computes for it, so it is slow and says nothing about speed.
// It finds the mistakes that a GPU would punish:
//
//   - An operator that is given tensors of the host beside the device's throws and names it; only
//     tensors without dimensions may stay on the host, as with CUDA.
//   - Code that reads a tensor's memory by its pointer throws.
//   - It counts what costs time on a GPU: operators, copies to the device, and reads of the device
//     by the host, each of which would wait for all work before it.
#ifndef LRA_MODELS_BASE_FAKE_DEVICE_H_
#define LRA_MODELS_BASE_FAKE_DEVICE_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <string>

namespace lra {

// Returns the device. The first call of a process registers it, and must come before the first
// backward, when LibTorch counts the devices.
at::Device FakeDevice();

// How often each of something happened.
using CallCounts = std::map<std::string, int64_t>;
int64_t Total(const CallCounts& counts);

// What was done since the last call of TakeFakeDeviceWork(), on any thread.
struct FakeDeviceWork {
  CallCounts
      operators;       // by name, such as "mm"; without views and allocations, which launch nothing
  CallCounts uploads;  // copies from the host, by what was copied, such as "Float [2, 3]"
  CallCounts
      host_reads;  // copies to the host and operators whose shape the host must know, by name
};
FakeDeviceWork TakeFakeDeviceWork();

}  // namespace lra

#endif  // LRA_MODELS_BASE_FAKE_DEVICE_H_
