// Rows of one (example, head) of [B, H, N, *] tensors: float32 on the CPU.
#ifndef LRA_MODELS_KERNELS_HEAD_ROWS_H_
#define LRA_MODELS_KERNELS_HEAD_ROWS_H_

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstdint>

#include "models/kernels/linear_attention_tiles.h"

namespace lra {

// A [B, H, N, *] tensor whose last dimension is dense.
class Heads {
 public:
  explicit Heads(const at::Tensor& tensor)
      : tensor_(tensor.stride(-1) == 1 ? tensor : tensor.contiguous()) {}
  // Rows of (example, head) from token `first`.
  RowsView Rows(int64_t example, int64_t head, int64_t first) const {
    const int64_t at =
        example * tensor_.stride(0) + head * tensor_.stride(1) + first * tensor_.stride(2);
    return {const_cast<float*>(tensor_.const_data_ptr<float>()) + at, tensor_.stride(2)};
  }

 private:
  at::Tensor tensor_;
};

inline at::Tensor EmptyHeads(const at::Tensor& like,
                             int64_t width) {  // [B, H, N, width], laid out [B, N, H, width]
  return at::empty({like.size(0), like.size(2), like.size(1), width}, like.options())
      .transpose(1, 2);
}

// keep [B, N] bool, or undefined: null.
class KeepTable {
 public:
  explicit KeepTable(const at::Tensor& keep) {
    if (keep.defined()) keep_ = keep.contiguous();
  }
  const bool* At(int64_t example, int64_t token) const {
    return keep_.defined() ? keep_.const_data_ptr<bool>() + example * keep_.size(1) + token
                           : nullptr;
  }

 private:
  at::Tensor keep_;
};

// body(example, head, index) in parallel.
template <class Body>
void ForHeads(const at::Tensor& q, Body body) {
  const int64_t heads = q.size(1);
  at::parallel_for(0, q.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / heads, i % heads, i);
  });
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_HEAD_ROWS_H_
