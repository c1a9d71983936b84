// What the forms of linear attention are made of, as compositions of LibTorch's operations: any
// device and float type. Private to this folder.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_PIECES_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_PIECES_H_

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/kernels/linear_attention.h"
#include "models/kernels/select_kept.h"

namespace lra::linear_pieces {

// 1 / sqrt(|x|^2 + norm_epsilon), 0 where that is 1 / 0: [B, H, N, 1].
at::Tensor InverseNorms(const at::Tensor& x, const LinearAttentionSpec& spec);
// phi(x), and a gradient of phi(x) chained through it, of the causal form chunk by chunk: runs on
// record have its rounding, those of float32 on the CPU from before it had tiles.
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

struct Normalizer {
  at::Tensor inverse;  // [B, H, N]: 1 / safe row sum; undefined = 1, and row sums do not count
  at::Tensor flows;    // [B, H, N] bool: whether the row sum has a gradient; undefined = all have
};
// The floors of kSignedFloor, from |phi(q_i)| and |sum_j phi(k_j)|, [B, H, N] and broadcastable to
// it; with angles the norms are those of the rotated features.
at::Tensor RowFloors(const at::Tensor& query_norms, const at::Tensor& key_sum_norms,
                     const LinearAttentionSpec& spec);
// row_sum [B, H, N]; floors are read for kSignedFloor alone.
Normalizer Normalize(const at::Tensor& row_sum, const at::Tensor& floors,
                     const LinearAttentionSpec& spec);
// The gradient of row sums that the output [B, H, N, Dv] was divided by: [B, H, N, 1].
at::Tensor RowSumGradient(const at::Tensor& gradient, const at::Tensor& output,
                          const Normalizer& normalizer);

// All but what the causal form adds.
void SaveSpec(const LinearAttentionSpec& spec, torch::autograd::AutogradContext* context);
LinearAttentionSpec LoadSpec(torch::autograd::AutogradContext* context);

}  // namespace lra::linear_pieces

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_PIECES_H_
