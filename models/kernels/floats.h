// Scratch memory of kernels.
#ifndef LRA_MODELS_KERNELS_FLOATS_H_
#define LRA_MODELS_KERNELS_FLOATS_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstdint>

namespace lra {

// Memory of one thread, aligned as tensors are, because a BLAS may round differently with another
// alignment.
class Floats {
 public:
  explicit Floats(int64_t size)
      : tensor_(at::empty({size}, at::kFloat)), data_(tensor_.mutable_data_ptr<float>()) {}
  float* get() const { return data_; }

 private:
  at::Tensor tensor_;
  float* data_;
};

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_FLOATS_H_
