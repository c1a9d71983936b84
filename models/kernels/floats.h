// Scratch memory of kernels.
#ifndef LRA_MODELS_KERNELS_FLOATS_H_
#define LRA_MODELS_KERNELS_FLOATS_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>

namespace lra {

// Memory of one thread, aligned as tensors are: vectors that lie across two lines of the cache load
// at half the speed.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t size)
      : tensor_(at::empty({size}, c10::CppTypeToScalarType<T>::value)),
        data_(tensor_.mutable_data_ptr<T>()) {}
  T* get() const { return data_; }

 private:
  at::Tensor tensor_;
  T* data_;
};

using Floats = Scratch<float>;

// Memory that grows and is kept, for a thread_local.
template <class T>
class GrowingScratch {
 public:
  T* AtLeast(int64_t size) {
    if (!memory_ || size > size_) {
      memory_.emplace(size);
      size_ = size;
    }
    return memory_->get();
  }

 private:
  std::optional<Scratch<T>> memory_;
  int64_t size_ = 0;
};

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_FLOATS_H_
