#include "models/kernels/softmax_attention.h"

#include <ATen/ATen.h>

#include <cmath>

namespace lra {
namespace {

at::Tensor DenseWithDropout(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, const DropoutKey& dropout) {
  at::Tensor scores =
      at::matmul(q / std::sqrt(static_cast<double>(q.size(3))), k.transpose(-1, -2));
  if (keep.defined()) {
    scores = scores.masked_fill(keep.logical_not().view({keep.size(0), 1, 1, -1}), -1e30);
  }
  const at::Tensor mask = WeightDropoutMask(dropout, q.size(1), q.size(2), k.size(2));
  return at::matmul(at::softmax(scores, -1) * mask.to(q.options()), v);
}

}  // namespace

at::Tensor SoftmaxAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, const DropoutKey& weight_dropout) {
  const bool is_masked = keep.defined() && !keep.all().item<bool>();
  if (!is_masked) {
    if (weight_dropout.active()) return DenseWithDropout(q, k, v, at::Tensor(), weight_dropout);
    return at::scaled_dot_product_attention(q, k, v);
  }
  const at::Tensor kept = keep.view({keep.size(0), 1, keep.size(1), 1});
  const at::Tensor zero = at::zeros({}, k.options());
  const at::Tensor safe_k = at::where(kept, k, zero), safe_v = at::where(kept, v, zero);
  // An example without keys attends to its zeroed keys and values: 0 out, 0 back, and no division
  // by zero.
  const at::Tensor admitted = keep.logical_or(keep.any(1, true).logical_not());
  if (weight_dropout.active()) return DenseWithDropout(q, safe_k, safe_v, admitted, weight_dropout);
  return at::scaled_dot_product_attention(q, safe_k, safe_v,
                                          admitted.view({keep.size(0), 1, 1, keep.size(1)}));
}

}  // namespace lra
