#include "models/base/upload_slots.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>

#include "models/base/host_copy.h"

namespace lra {
namespace {

const c10::impl::DeviceGuardImplInterface& ImplOf(at::Device device) {
  return *c10::impl::getDeviceGuardImpl(device.type());
}

}  // namespace

UploadSlots::UploadSlots(at::Device device) : device_(device) {
  if (device.is_cpu()) return;
  copies_ = ImplOf(device).getStreamFromGlobalPool(device);
  for (int i = 0; i < 2; ++i) slots_.emplace_back(device.type());
}

UploadSlots::~UploadSlots() {
  try {
    for (const Slot& slot : slots_) slot.copied.synchronize();
  } catch (...) {  // a device that has failed says so wherever it is asked next
  }
}

void UploadSlots::Reserve(int64_t bytes, const c10::Stream& work, Slot* slot) const {
  if (slot->pinned.defined() && slot->pinned.numel() >= bytes) return;
  // Lengths differ a little from batch to batch.
  const int64_t size = bytes + bytes / 4;
  const auto options = at::TensorOptions().dtype(at::kByte);
  slot->pinned = at::empty({size}, options.pinned_memory(true));
  // The work's stream may still use what was in this memory before.
  slot->on_device = at::empty({size}, options.device(device_));
  slot->used.record(work);
}

std::vector<at::Tensor> UploadSlots::Move(const std::vector<at::Tensor>& tensors) {
  if (!copies_) return tensors;
  const c10::Stream work = ImplOf(device_).getStream(device_);
  // All that reads the last batch has been asked for by now.
  slots_[1 - next_].used.record(work);
  Slot& slot = slots_[next_];
  next_ = 1 - next_;
  const int64_t bytes = PackedBytes(tensors);
  slot.copied.synchronize();
  Reserve(bytes, work, &slot);
  PackInto(tensors, static_cast<char*>(slot.pinned.mutable_data_ptr()));
  slot.used.block(*copies_);
  block_ = slot.on_device.narrow(0, 0, bytes);
  {
    const c10::StreamGuard guard(*copies_);
    block_.copy_(slot.pinned.narrow(0, 0, bytes), /*non_blocking=*/true);
  }
  slot.copied.record(*copies_);
  slot.copied.block(work);
  return UnpackViews(block_, tensors);
}

std::vector<at::Tensor> MoveTo(at::Device device, const std::vector<at::Tensor>& tensors,
                               UploadSlots* slots) {
  return slots != nullptr ? slots->Move(tensors) : CopyTogether(tensors, device);
}

}  // namespace lra
