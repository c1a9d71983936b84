#include "models/base/host_copy.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstring>

namespace lra {
namespace {

constexpr int64_t kAlignBytes = 16;  // at least an element of any type

int64_t AlignedBytes(const at::Tensor& t) {
  if (!t.defined()) return 0;
  return (static_cast<int64_t>(t.nbytes()) + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
}

}  // namespace

std::vector<at::Tensor> CopyTogether(const std::vector<at::Tensor>& tensors, at::Device device) {
  if (device.is_cpu()) return tensors;
  int64_t bytes = 0;
  for (const at::Tensor& t : tensors) bytes += AlignedBytes(t);
  // CUDA copies from pinned memory while the host goes on; LibTorch keeps the block until then.
  const at::Tensor block =
      at::empty({bytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(device.is_cuda()));
  char* to = static_cast<char*>(block.mutable_data_ptr());
  for (const at::Tensor& t : tensors) {
    if (t.defined()) std::memcpy(to, t.contiguous().const_data_ptr(), t.nbytes());
    to += AlignedBytes(t);
  }
  const at::Tensor moved = block.to(device, /*non_blocking=*/device.is_cuda());
  std::vector<at::Tensor> result;
  int64_t first = 0;
  for (const at::Tensor& t : tensors) {
    result.push_back(t.defined() ? moved.narrow(0, first, static_cast<int64_t>(t.nbytes()))
                                       .view(t.scalar_type())
                                       .view(t.sizes())
                                 : t);
    first += AlignedBytes(t);
  }
  return result;
}

at::Tensor DeviceConstant::On(at::Device device) const {
  if (!host_.defined() || host_.device() == device) return host_;
  const std::lock_guard<std::mutex> lock(copy_->mutex);
  at::Tensor& copy = copy_->tensor;
  if (!copy.defined() || copy.device() != device) copy = host_.to(device);
  return copy;
}

}  // namespace lra
