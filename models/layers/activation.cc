#include "models/layers/activation.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>

namespace lra {

ActivationKind ActivationOf(const ModelConfig& model) {
  switch (model.activation()) {
    case ModelConfig::RELU_MLP:
      return ActivationKind::kRelu;
    case ModelConfig::GELU_TANH:
      return ActivationKind::kGeluTanh;
    default:
      return ActivationKind::kGeluErf;
  }
}

at::Tensor Activate(const at::Tensor& x, ActivationKind kind) {
  if (kind == ActivationKind::kRelu) return at::relu(x);
  return at::gelu(x, kind == ActivationKind::kGeluTanh ? "tanh" : "none");
}

}  // namespace lra
