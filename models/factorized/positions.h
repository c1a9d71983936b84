// What depends on positions and on how many keys a query sees.
#ifndef LRA_MODELS_FACTORIZED_POSITIONS_H_
#define LRA_MODELS_FACTORIZED_POSITIONS_H_

#include <ATen/core/Tensor.h>

#include "models/factorized/spec.h"
#include "models/interface/attention.h"

namespace lra::factorized {

// Where a call's tokens stand in their sequence.
struct Offsets {
  int64_t query = 0, key = 0;
  at::Tensor seen;  // [B] float64: kept keys before this piece; undefined = none
};
// Causal: the ends of queries and keys are aligned.
Offsets OffsetsOf(const AttentionInput& input);

// pi i / 2M of n tokens from `offset` on, float64: [n]; [B or 1, n] where M is the example's own
// length, which reaches to its last kept key; [1, H, n] where M is learned (differentiable).
at::Tensor Angles(const FactorizedSpec& spec, const AttentionInput& input, int64_t n,
                  int64_t offset);

// log g of kDecay, [H] float64; differentiable where it is learned.
at::Tensor LogDecay(const FactorizedSpec& spec);

// Kept keys that each query sees, at least 1: [B or 1, 1, N or 1, 1], float64.
at::Tensor SeenByQueries(const AttentionInput& input, const Offsets& offsets);
// Kept keys up to each key: [B or 1, 1, Nk, 1].
at::Tensor SeenByKeys(const AttentionInput& input, const Offsets& offsets);

}  // namespace lra::factorized

#endif  // LRA_MODELS_FACTORIZED_POSITIONS_H_
