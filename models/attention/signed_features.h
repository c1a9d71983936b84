// For plug-ins: linear attention whose features, and so weights, may be negative.
//   w_ij = phi(q_i) . phi(k_j)
//   SIGNED_FLOOR  o_i = sum_j w_ij v_j / safe(sum_j w_ij)   (Denominator::kSignedFloor)
//   KEY_COUNT     o_i = sum_j w_ij v_j / number of keys
#ifndef LRA_MODELS_ATTENTION_SIGNED_FEATURES_H_
#define LRA_MODELS_ATTENTION_SIGNED_FEATURES_H_

#include <ATen/core/Tensor.h>

#include "models/attention/attention.h"
#include "models/attention/signed_normalizer.pb.h"
#include "models/kernels/linear_attention.h"

namespace lra {

// The part of the core's spec that options choose; KEY_COUNT becomes Denominator::kNone. Options:
// IdentityOptions or a message with the same fields.
template <class Options>
LinearAttentionSpec SignedSpec(const Options& options) {
  LinearAttentionSpec spec;
  spec.denominator = options.normalizer() == SignedNormalizer::KEY_COUNT
                         ? Denominator::kNone
                         : Denominator::kSignedFloor;
  spec.floor_ratio = options.has_floor_ratio() ? options.floor_ratio() : 0.01;
  spec.epsilon = options.has_epsilon() ? options.epsilon() : 1e-6;
  return spec;
}

// Traits of the family; the caller adds label, summary and source.
Traits SignedTraits();

// spec: of SignedSpec, with a feature map.
at::Tensor SignedAttend(const AttentionInput& input, const LinearAttentionSpec& spec);

// Dense, of phi(q) and phi(k) that the caller made from the definition.
at::Tensor SignedOracle(const at::Tensor& query_features, const at::Tensor& key_features,
                        const AttentionInput& input, const LinearAttentionSpec& spec);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_SIGNED_FEATURES_H_
