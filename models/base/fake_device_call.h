// One operator on tensors of the fake device, computed by the host. Private to this folder.
#ifndef LRA_MODELS_BASE_FAKE_DEVICE_CALL_H_
#define LRA_MODELS_BASE_FAKE_DEVICE_CALL_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Storage.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lra::internal {

// A tensor of the host with the memory of one of the fake device, and the other way round. They
// share what is written; each keeps the other's memory alive.
at::Tensor HostTwin(const at::Tensor& on_device);
at::Tensor DeviceTwin(const at::Tensor& on_host);

// The elements of `like`, found in another storage of either.
at::Tensor TensorIn(c10::Storage storage, const at::Tensor& like);
// A storage of the fake device in the memory of another one, which it does not keep alive.
c10::Storage BorrowedStorage(const c10::Storage& other);
// The tensors in a value that is one, or a list of them.
std::vector<at::Tensor> TensorsIn(const c10::IValue& value);
// Where a storage of the fake device is in the host's memory.
void* MemoryIn(const c10::Storage& storage);

// Calls the operator's form for the CPU with the arguments on the stack, which must be on the fake
// device, and leaves its results there, on the fake device again: views of arguments are views,
// and what was written or resized is. Throws c10::Error for an argument of the host.
void CallOnHost(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Counts work that the device was asked for (FakeDeviceWork::operators).
void CountFakeOperator(const std::string& name);

}  // namespace lra::internal

#endif  // LRA_MODELS_BASE_FAKE_DEVICE_CALL_H_
