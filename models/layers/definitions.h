// The parts of a block from their definitions, for oracles: plain operations that autograd
// differentiates, in the type of x whatever the type of the parameters.
#ifndef LRA_MODELS_LAYERS_DEFINITIONS_H_
#define LRA_MODELS_LAYERS_DEFINITIONS_H_

#include <ATen/core/Tensor.h>

#include "models/kernels/dropout.h"
#include "models/kernels/rows.h"
#include "models/layers/layer_pieces.h"

namespace lra {

// x [..., in] -> x W^T + b [..., out].
at::Tensor LinearDefinition(const at::Tensor& x, const LinearMap& map);
// x / 2 (1 + erf(x / sqrt 2)), or its approximation by tanh (Hendrycks & Gimpel 2016, section 2).
at::Tensor ActivationDefinition(const at::Tensor& x, ActivationKind kind);
// x [B, N, C] times the mask that the key draws.
at::Tensor DropoutDefinition(const at::Tensor& x, const DropoutKey& key);

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_DEFINITIONS_H_
