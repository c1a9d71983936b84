// The activation inside of layers: model.activation.
#ifndef LRA_MODELS_LAYERS_ACTIVATION_H_
#define LRA_MODELS_LAYERS_ACTIVATION_H_

#include <ATen/core/Tensor.h>

#include "lra/config.pb.h"
#include "models/kernels/rows.h"

namespace lra {

ActivationKind ActivationOf(const ModelConfig& model);

// Takes it of each value; any device and float type.
at::Tensor Activate(const at::Tensor& x, ActivationKind kind);

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_ACTIVATION_H_
