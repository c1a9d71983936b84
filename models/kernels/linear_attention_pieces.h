// What the forms of linear attention are made of, as compositions of LibTorch's operations: any
// device and float type. Private to this folder.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_PIECES_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_PIECES_H_

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/kernels/linear_attention.h"
#include "models/kernels/select_kept.h"

namespace lra::linear_pieces {

// phi(x), and a gradient of phi(x) chained through it.
at::Tensor Features(const at::Tensor& x, const LinearAttentionSpec& spec);
at::Tensor ThroughFeatures(const at::Tensor& gradient, const at::Tensor& x,
                           const LinearAttentionSpec& spec);

// cos and sin of one side's positions, shaped to multiply [B, H, N, *].
struct Rotation {
  at::Tensor cosine, sine;

  // Undefined angles rotate nothing.
  Rotation(const at::Tensor& angles, const at::Tensor& like);
  // [.., W] -> [.., 2 W]: the cosine part and the sine part.
  at::Tensor Expand(const at::Tensor& t) const;
  // The adjoint of Expand.
  at::Tensor Fold(const at::Tensor& t) const;
};

// Returns t [B, H, Nk, *] with zeros at masked keys. It keeps the strides of t, on which the
// rounding of the matrix products behind it depends.
inline at::Tensor Kept(const at::Tensor& t, const at::Tensor& keep) {
  return SelectKept(t, keep, KeptLayout::kAsGiven);
}
// [B, H, Nk, Dv + 1], zeros for masked values (their features are zero too).
at::Tensor ValuesWithOnes(const at::Tensor& v, const at::Tensor& keep);

// |sum_j phi(k_j)|, with angles of the expanded features: [B, H, 1]; undefined where the
// denominator does not need it.
at::Tensor KeySumNorm(const at::Tensor& key_state, const LinearAttentionSpec& spec);

struct Normalizer {
  at::Tensor inverse;  // [B, H, N]: 1 / safe row sum
  at::Tensor flows;    // [B, H, N] bool: whether the row sum has a gradient; undefined = all have
};
// row_sum [B, H, N]; key_sum_norm broadcastable to it.
Normalizer Normalize(const at::Tensor& row_sum, const at::Tensor& query_features,
                     const at::Tensor& key_sum_norm, const LinearAttentionSpec& spec);

// All but what the causal form adds.
void SaveSpec(const LinearAttentionSpec& spec, torch::autograd::AutogradContext* context);
LinearAttentionSpec LoadSpec(torch::autograd::AutogradContext* context);

}  // namespace lra::linear_pieces

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_PIECES_H_
