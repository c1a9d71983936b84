// Features of queries and keys, with everything of the re-weighting that is a factor of a token.
#ifndef LRA_MODELS_FACTORIZED_FEATURES_H_
#define LRA_MODELS_FACTORIZED_FEATURES_H_

#include <ATen/core/Tensor.h>

#include "models/factorized/positions.h"
#include "models/kernels/linear_attention.h"

namespace lra::factorized {

// What goes into LinearAttention().
struct Prepared {
  at::Tensor q, k, v;
  LinearAttentionSpec core;  // feature map, angles, decay; the denominator is the caller's
  at::Tensor running_max;    // stabilised features: [B, H, M], after the last key
};

// Queries and keys of a map that the core would apply become features; the core gets the identity.
void MapBeforeCore(const FactorizedSpec& spec, const at::Tensor& keep, Prepared* prepared);

// Queries and keys that the core would rotate by its angles become twice as wide, rotated; the core
// gets no angles.
void RotateBeforeCore(const FactorizedSpec& spec, const at::Tensor& keep, Prepared* prepared);

// Whether features made for the forward may wait for the backward: fused, and no wider than 2 D, so
// that at the peak two features, their gradients, the output and two gradients of inputs take
// (4 * 2 + 3) / 3 of the bytes of q, k and v.
bool KeepsFeatures(const FactorizedSpec& spec, const AttentionInput& input);

// running_max: of the keys before this piece, or undefined.
Prepared Prepare(const FactorizedSpec& spec, const AttentionInput& input, const Offsets& offsets,
                 const at::Tensor& running_max);

// log g of kGate, [B, H, N]; 0 (g = 1) at masked tokens.
at::Tensor LogGates(const FactorizedSpec& spec, const AttentionInput& input);
// 1 - g, what each key gets: [B, H, N, 1].
at::Tensor GateShares(const at::Tensor& log_gates);

}  // namespace lra::factorized

#endif  // LRA_MODELS_FACTORIZED_FEATURES_H_
