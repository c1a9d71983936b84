// One operator on tensors of the fake device, computed by the host. Private to this folder.
#ifndef LRA_MODELS_BASE_FAKE_DEVICE_CALL_H_
#define LRA_MODELS_BASE_FAKE_DEVICE_CALL_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Storage.h>

#include <map>
#include <utility>
#include <vector>

namespace lra::internal {

// A tensor of the host with the memory of one of the fake device, and the other way round. They
// share what is written; each keeps the other's memory alive.
at::Tensor HostTwin(const at::Tensor& on_device);
at::Tensor DeviceTwin(const at::Tensor& on_host);

// Calls the operator's form for the CPU with the arguments on the stack, which must be on the fake
// device, and leaves its results there, on the fake device again: views of arguments are views,
// and what was written or resized is. Throws c10::Error for an argument of the host.
void CallOnHost(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace lra::internal

#endif  // LRA_MODELS_BASE_FAKE_DEVICE_CALL_H_
