// The matrix of weights W that an attention implies, o = W v.
#ifndef LRA_MODELS_ATTENTION_WEIGHTS_H_
#define LRA_MODELS_ATTENTION_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/interface/attention.h"

namespace lra {

// InvalidArgument if there is no such W: traits().has_weights is false.
absl::Status CheckHasWeights(const Attention& attention);

// [B, H, N, Nk]: the oracle's output for the identity as values, which is W because W does not
// depend on v. Rows of padded queries are unspecified. Memory: B H Nk^2 twice, and the oracle's
// own. The error of CheckHasWeights. Throws what Oracle() throws.
absl::StatusOr<at::Tensor> ImpliedWeights(const Attention& attention, const AttentionInput& input);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_WEIGHTS_H_
