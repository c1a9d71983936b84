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

int64_t PackedBytes(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& t : tensors) bytes += AlignedBytes(t);
  return bytes;
}

void PackInto(const std::vector<at::Tensor>& tensors, char* block) {
  for (const at::Tensor& t : tensors) {
    if (t.defined()) std::memcpy(block, t.contiguous().const_data_ptr(), t.nbytes());
    block += AlignedBytes(t);
  }
}

std::vector<at::Tensor> UnpackViews(const at::Tensor& block, const std::vector<at::Tensor>& like) {
  std::vector<at::Tensor> result;
  int64_t first = 0;
  for (const at::Tensor& t : like) {
    result.push_back(t.defined() ? block.narrow(0, first, static_cast<int64_t>(t.nbytes()))
                                       .view(t.scalar_type())
                                       .view(t.sizes())
                                 : t);
    first += AlignedBytes(t);
  }
  return result;
}

std::vector<at::Tensor> CopyTogether(const std::vector<at::Tensor>& tensors, at::Device device) {
  if (device.is_cpu()) return tensors;
  // CUDA copies from pinned memory while the host goes on; LibTorch keeps the block until then.
  const at::Tensor block = at::empty(
      {PackedBytes(tensors)}, at::TensorOptions().dtype(at::kByte).pinned_memory(device.is_cuda()));
  PackInto(tensors, static_cast<char*>(block.mutable_data_ptr()));
  return UnpackViews(block.to(device, /*non_blocking=*/device.is_cuda()), tensors);
}

at::Tensor DeviceConstant::On(at::Device device) const {
  if (!host_.defined() || host_.device() == device) return host_;
  const std::lock_guard<std::mutex> lock(copy_->mutex);
  at::Tensor& copy = copy_->tensor;
  if (!copy.defined() || copy.device() != device) copy = host_.to(device);
  return copy;
}

}  // namespace lra
