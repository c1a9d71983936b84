// Copies of the host's tensors on a device, as few as can be: each costs a GPU some 10 us.
#ifndef LRA_MODELS_BASE_HOST_COPY_H_
#define LRA_MODELS_BASE_HOST_COPY_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lra {

// The tensors, which are on the host, on a device, by one copy of all of them. Undefined ones stay
// so. On the CPU they are returned as they are.
std::vector<at::Tensor> CopyTogether(const std::vector<at::Tensor>& tensors, at::Device device);

// --- For those who copy by themselves: several tensors as one block of bytes ---

// The size of the block; undefined tensors take nothing.
int64_t PackedBytes(const std::vector<at::Tensor>& tensors);
// Writes the tensors, which are on the host, into memory of that size.
void PackInto(const std::vector<at::Tensor>& tensors, char* block);
// The same tensors in a copy of the block, uint8 [PackedBytes()], as views; undefined ones stay so.
std::vector<at::Tensor> UnpackViews(const at::Tensor& block, const std::vector<at::Tensor>& like);

// A tensor that is made on the host and never changes, such as a table; it is copied to a device at
// its first use there. Copies of this object share that copy.
class DeviceConstant {
 public:
  DeviceConstant() = default;
  explicit DeviceConstant(at::Tensor host)
      : host_(std::move(host)), copy_(std::make_shared<Copy>()) {}

  bool defined() const { return host_.defined(); }
  const at::Tensor& host() const { return host_; }
  // Undefined where that of the host is. May be called by several threads.
  at::Tensor On(at::Device device) const;

 private:
  struct Copy {
    std::mutex mutex;
    at::Tensor tensor;
  };
  at::Tensor host_;
  std::shared_ptr<Copy> copy_;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_HOST_COPY_H_
