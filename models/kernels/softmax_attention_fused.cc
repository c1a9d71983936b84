// Softmax attention by LibTorch's fused kernels, for CUDA. Which of them runs is LibTorch's choice;
// cuDNN's is switched off where the device is opened, because deterministic mode refuses it.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>

#include <optional>

#include "models/kernels/softmax_attention.h"

namespace lra::internal {
namespace {

// Otherwise LibTorch would fall back to the whole matrix of weights.
constexpr int64_t kWidthMultiple = 8;
// LibTorch makes a float32 of each element of a causal form's mask and keeps it until the backward:
// at most 32 MB a layer.
constexpr int64_t kMostMaskElements = int64_t{1} << 23;

int64_t MaskElements(const SoftmaxInput& input) {
  return input.q.size(0) * input.q.size(2) * input.k.size(2);
}

// Which keys queries see, [B, 1, 1 or N, Nk].
at::Tensor SeenKeys(const SoftmaxInput& input) {
  const at::Tensor kept = input.keep.unsqueeze(1).unsqueeze(1);
  if (!input.causal) return kept;
  const at::Tensor places = at::arange(input.k.size(2), input.keep.options().dtype(at::kLong));
  return kept.logical_and(places.unsqueeze(1).ge(places));
}

}  // namespace

bool CanFuseSoftmax(const SoftmaxInput& input) {
  const bool has_masks_of_ours =
      input.bias.defined() || input.distance_slopes.defined() || input.weight_dropout.active();
  // Its causal form starts at query 0, and takes no mask besides; with one, it is a mask, too.
  const bool is_square = input.q.size(2) == input.k.size(2);
  return !has_masks_of_ours && input.q.size(3) % kWidthMultiple == 0 &&
         input.q.size(3) == input.v.size(3) && input.q.scalar_type() != at::kDouble &&
         (!input.causal ||
          (is_square && (!input.keep.defined() || MaskElements(input) <= kMostMaskElements)));
}

at::Tensor SoftmaxFused(const SoftmaxInput& input) {
  if (!input.keep.defined()) {
    return at::scaled_dot_product_attention(input.q, input.k, input.v, std::nullopt, 0,
                                            input.causal);
  }
  // A query without keys sees all of them, because its softmax would be NaN, and gives 0.
  const at::Tensor seen = SeenKeys(input);
  const at::Tensor is_empty = seen.any(-1, /*keepdim=*/true).logical_not();  // [B, 1, 1 or N, 1]
  const at::Tensor hidden = input.keep.logical_not().unsqueeze(1).unsqueeze(-1);  // [B, 1, Nk, 1]
  // Unlike masked_fill(), where() writes once and keeps the order in memory.
  const at::Tensor output =
      at::scaled_dot_product_attention(input.q, at::where(hidden, 0, input.k),
                                       at::where(hidden, 0, input.v), seen.logical_or(is_empty));
  return at::where(is_empty, 0, output);
}

}  // namespace lra::internal
