// Rows of one (example, head) of [B, H, N, *] tensors: float32 on the CPU.
#ifndef LRA_MODELS_KERNELS_HEAD_ROWS_H_
#define LRA_MODELS_KERNELS_HEAD_ROWS_H_

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstdint>

#include "models/kernels/linear_attention_tiles.h"

namespace lra {

// Gives pointers into a [B, H, N, *] tensor, or into a copy of it where its last dimension is not
// dense.
class HeadRows {
 public:
  explicit HeadRows(const at::Tensor& tensor)
      : tensor_(tensor.stride(-1) == 1 ? tensor : tensor.contiguous()),
        data_(const_cast<float*>(tensor_.const_data_ptr<float>())) {}
  // The first number of one row.
  float* At(int64_t example, int64_t head, int64_t token) const {
    return data_ + example * tensor_.stride(0) + head * tensor_.stride(1) + token * stride();
  }
  int64_t stride() const { return tensor_.stride(2); }
  // Rows of (example, head) from token `first` on.
  RowsView Rows(int64_t example, int64_t head, int64_t first) const {
    return {At(example, head, first), stride()};
  }

 private:
  at::Tensor tensor_;
  float* data_;
};

// Returns an empty [B, H, N, width] for `like` [B, H, N, *]; in memory it is [B, N, H, width].
inline at::Tensor EmptyHeads(const at::Tensor& like, int64_t width) {
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

// body(scratch, example, head, index) in parallel; each thread makes its own scratch, once.
template <class MakeScratch, class Body>
void ForHeads(const at::Tensor& q, MakeScratch make_scratch, Body body) {
  const int64_t heads = q.size(1);
  at::parallel_for(0, q.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
    const auto scratch = make_scratch();
    for (int64_t i = begin; i < end; ++i) body(scratch, i / heads, i % heads, i);
  });
}

// body(example, head, index) in parallel.
template <class Body>
void ForHeads(const at::Tensor& q, Body body) {
  ForHeads(
      q, [] { return 0; },
      [&](int, int64_t example, int64_t head, int64_t index) { body(example, head, index); });
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_HEAD_ROWS_H_
