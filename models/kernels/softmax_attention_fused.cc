// Softmax attention by LibTorch's fused kernels, for CUDA. Which of them runs is LibTorch's choice;
// cuDNN's is switched off where the device is opened, because deterministic mode refuses it.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <optional>

#include "models/kernels/softmax_attention.h"

namespace lra::internal {
namespace {

// Otherwise LibTorch would fall back to the whole matrix of weights.
constexpr int64_t kWidthMultiple = 8;

}  // namespace

bool CanFuseSoftmax(const SoftmaxInput& input) {
  const bool has_masks_of_ours =
      input.bias.defined() || input.distance_slopes.defined() || input.weight_dropout.active();
  // Its causal form starts at query 0, and takes no mask besides.
  const bool is_square = input.q.size(2) == input.k.size(2);
  return !has_masks_of_ours && input.q.size(3) % kWidthMultiple == 0 &&
         input.q.size(3) == input.v.size(3) && input.q.scalar_type() != at::kDouble &&
         (!input.causal || (is_square && !input.keep.defined()));
}

at::Tensor SoftmaxFused(const SoftmaxInput& input) {
  if (!input.keep.defined()) {
    return at::scaled_dot_product_attention(input.q, input.k, input.v, std::nullopt, 0,
                                            input.causal);
  }
  // An example without keys sees all of them, because its softmax would be NaN, and gives 0.
  const at::Tensor is_empty = input.keep.any(-1, /*keepdim=*/true).logical_not();  // [B, 1]
  const at::Tensor hidden = input.keep.logical_not().unsqueeze(1).unsqueeze(-1);   // [B, 1, Nk, 1]
  const at::Tensor seen = input.keep.logical_or(is_empty).unsqueeze(1).unsqueeze(1);
  const at::Tensor output =
      at::scaled_dot_product_attention(input.q, input.k.masked_fill(hidden, 0),
                                       input.v.masked_fill(hidden, 0), seen);  // [B, 1, 1, Nk]
  return output.masked_fill(is_empty.unsqueeze(-1).unsqueeze(-1), 0);
}

}  // namespace lra::internal
