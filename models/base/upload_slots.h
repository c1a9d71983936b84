// Copies batches to a device while it works on the ones before. There are two slots, each a pinned
// block of the host, a block of the device and an event that frees it: the host fills one while the
// other is copied or read. Copies have a stream of their own.
#ifndef LRA_MODELS_BASE_UPLOAD_SLOTS_H_
#define LRA_MODELS_BASE_UPLOAD_SLOTS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace lra {

class UploadSlots {
 public:
  explicit UploadSlots(at::Device device);
  // Waits for the copies.
  ~UploadSlots();
  UploadSlots(const UploadSlots&) = delete;
  UploadSlots& operator=(const UploadSlots&) = delete;

  // The tensors, which are on the host, on the device by one copy; what is asked for on the calling
  // thread's stream afterwards sees them. They are views of a slot: valid until the second call
  // after this one, for work that is asked for on that stream until then. Undefined ones stay so;
  // on the CPU they are returned as they are. Throws as LibTorch does.
  std::vector<at::Tensor> Move(const std::vector<at::Tensor>& tensors);
  // The bytes behind what Move() returned last, uint8 (UnpackViews).
  const at::Tensor& block() const { return block_; }

 private:
  struct Slot {
    explicit Slot(at::DeviceType device) : copied(device), used(device) {}
    at::Tensor pinned, on_device;  // uint8, of the same size
    c10::Event copied;             // the pinned block may be written again
    c10::Event used;               // the device's block may be written again
  };
  void Reserve(int64_t bytes, const c10::Stream& work, Slot* slot) const;

  const at::Device device_;
  std::optional<c10::Stream> copies_;  // none on the CPU
  std::vector<Slot> slots_;
  size_t next_ = 0;
  at::Tensor block_;
};

// Through `slots`, or without them by a copy that shares nothing with others.
std::vector<at::Tensor> MoveTo(at::Device device, const std::vector<at::Tensor>& tensors,
                               UploadSlots* slots);

}  // namespace lra

#endif  // LRA_MODELS_BASE_UPLOAD_SLOTS_H_
