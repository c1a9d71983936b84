#include "models/kernels/pattern_oracle.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <cmath>

namespace lra {

at::Tensor DensePatternAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const at::Tensor& pairs,
                                 const DropoutKey& weight_dropout) {
  const at::Tensor logits =
      at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(3)));
  return DenseMaskedSoftmax(logits, v, keep, pairs, weight_dropout);
}

at::Tensor DenseMaskedSoftmax(const at::Tensor& logits, const at::Tensor& v, const at::Tensor& keep,
                              const at::Tensor& pairs, const DropoutKey& weight_dropout) {
  at::Tensor hidden = pairs.logical_not(), values = v;
  if (keep.defined()) {
    const at::Tensor masked = keep.logical_not();
    hidden = hidden.logical_or(masked.view({masked.size(0), 1, 1, -1}));
    values = v.masked_fill(masked.view({masked.size(0), 1, -1, 1}), 0);
  }
  // Hidden pairs have weight 0, and so have rows with nothing but hidden pairs.
  at::Tensor weights = at::softmax(logits.masked_fill(hidden, -1e30), -1).masked_fill(hidden, 0);
  if (weight_dropout.active()) {
    weights = weights *
              WeightDropoutMask(weight_dropout, weights.size(1), weights.size(2), weights.size(3))
                  .to(weights.options());
  }
  return at::matmul(weights, values);
}

}  // namespace lra
