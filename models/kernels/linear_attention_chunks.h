// Linear attention on a device: batched products over chunks of tokens, so that a sequence of any
// length keeps the whole device busy, in few operators. With angles the features are rotated, [cos
// phi(x), sin phi(x)], and nothing else depends on them. Row sums have a product of their own: a
// column of ones beside the values would make rows of an odd length, which products are slow on.
// Everything is a composition of LibTorch's operations, for any device and float type.
//
// Shapes: T chunks of C tokens; F = D, or 2 D with angles. Private to this folder.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_CHUNKS_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_CHUNKS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kernels/linear_attention_pieces.h"

namespace lra::linear_pieces {

// How N tokens are cut. The last chunk is filled up.
struct Cut {
  int64_t tokens, size, count;  // N, C, T

  // Chunks of kCausalChunkTokens, or one that is shorter.
  static Cut IntoChunks(int64_t tokens);
  static Cut Whole(int64_t tokens) { return {tokens, tokens, 1}; }
  int64_t padded() const { return size * count; }
};

// Dense [B, H, T C, W] -> its views [B H T, C, W] and [B H, T C, W].
at::Tensor Chunked(const at::Tensor& t, const Cut& cut);
inline at::Tensor OfHeads(const at::Tensor& t) { return t.flatten(0, 1); }
// [.., C, W] or [B H, T C, W], of q's B and H -> its view [B, H, N, W].
at::Tensor Tokens(const at::Tensor& t, const at::Tensor& q, const Cut& cut);

// One side's tokens: queries or keys.
struct Side {
  at::Tensor x;       // [B, H, N, D]
  Rotation rotation;  // by its angles
  at::Tensor hidden;  // [B, 1, N, 1] bool: tokens that are left out; undefined = none
};
Side QuerySide(const at::Tensor& q, const LinearAttentionSpec& spec);
// query: made before; where the keys have its angles, its tables serve.
Side KeySide(const at::Tensor& k, const at::Tensor& keep, const Side& query,
             const LinearAttentionSpec& spec);

// phi(x), rotated: dense [B, H, T C, F], 0 at hidden tokens and behind the last.
at::Tensor CutFeatures(const Side& side, const LinearAttentionSpec& spec, const Cut& cut);
// From a gradient of it, [B, H, N, F], to that of x: [B, H, N, D], laid out as [B, N, H, D].
at::Tensor ThroughCutFeatures(const at::Tensor& gradient, const Side& side,
                              const LinearAttentionSpec& spec);
// t [B, H, N, W], times factor [B, H, N, 1] where that is defined: dense [B, H, T C, W], 0 at
// hidden tokens and behind the last.
at::Tensor CutTokens(const at::Tensor& t, const at::Tensor& factor, const at::Tensor& hidden,
                     const Cut& cut);

// Sums [B, H, N, Dv], divided: [B, H, N, Dv], laid out as [B, N, H, Dv].
at::Tensor Divided(const at::Tensor& sums, const Normalizer& normalizer);

// What multiplies features in a state: values and a number, or their gradients.
struct WeightedRows {
  at::Tensor values;  // [R, C, Dv]
  at::Tensor sums;    // [R, C, 1], or undefined
};
WeightedRows Chunked(const WeightedRows& rows, const Cut& cut);  // of [B, H, T C, *]
// From the gradient of the output [B, H, N, Dv] to those of the sums w v and w, cut: dense [B, H, T
// C, *]. Without a denominator the latter are undefined.
WeightedRows ThroughDivision(const at::Tensor& gradient, const at::Tensor& output,
                             const Normalizer& normalizer, const Cut& cut);

// sum over the rows of [v, 1] phi^T, for features [R, C, F] and v [R, C, Dv]: [R, Dv + 1, F], or
// [R, Dv, F] where nothing is divided by row sums.
at::Tensor ValueStates(const at::Tensor& features, const at::Tensor& v,
                       const LinearAttentionSpec& spec);
// The same sum over gradients.
at::Tensor GradientStates(const at::Tensor& features, const WeightedRows& rows);
// The parts of such states [R, Dv (+ 1), F]: [R, Dv, F], and [R, 1, F] or undefined.
struct StateParts {
  at::Tensor values, sums;
};
StateParts PartsOf(const at::Tensor& states, int64_t value_width);

}  // namespace lra::linear_pieces

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_CHUNKS_H_
