// Random features in one pass over tiles of tokens, with a gradient written by hand that needs only
// x and the features. x and the features are float32 on the CPU. The definitions, for any device
// and type, are in random_features.h and models/factorized/features.h.
#ifndef LRA_MODELS_KERNELS_FUSED_RANDOM_FEATURES_H_
#define LRA_MODELS_KERNELS_FUSED_RANDOM_FEATURES_H_

#include <ATen/core/Tensor.h>

#include "models/kernels/random_features.h"

namespace lra {

// Whether the forms below take this call: they are tiles (dispatch.h), without a generic form here.
bool HasFusedFeatures(const at::Tensor& q, const at::Tensor& k);

// MakeStableFeatures() of LogPositiveFeatures(scale q) and of LogPositiveFeatures(scale k):
// q [B, H, N, D], k [B, H, Nk, D], keep [B, Nk] bool or undefined, projection [M, D] (constant).
// What masked keys hold has no effect, on gradients neither.
StableFeatures FusedStableFeatures(const at::Tensor& q, const at::Tensor& k, const at::Tensor& keep,
                                   const at::Tensor& projection, double scale);

// M^-1/2 [sin(W x^), cos(W x^)], x^ = sigma x / |x| (0 for 0): x [B, H, N, D], projection W [M, D]
// (constant), sigma [H, D] -> [B, H, N, 2M]. Masked tokens (keep as above) count as 0: their
// features are finite, for the caller to leave out, and they have no gradient.
at::Tensor FusedTrigonometricFeatures(const at::Tensor& x, const at::Tensor& keep,
                                      const at::Tensor& projection, const at::Tensor& sigma);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_FUSED_RANDOM_FEATURES_H_
