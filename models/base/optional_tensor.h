// Tensors that may be missing: undefined in our structures, std::nullopt in LibTorch's interfaces.
#ifndef LRA_MODELS_BASE_OPTIONAL_TENSOR_H_
#define LRA_MODELS_BASE_OPTIONAL_TENSOR_H_

#include <ATen/core/Tensor.h>

#include <optional>

namespace lra {

inline std::optional<at::Tensor> IfDefined(const at::Tensor& t) {
  return t.defined() ? std::optional(t) : std::nullopt;
}

}  // namespace lra

#endif  // LRA_MODELS_BASE_OPTIONAL_TENSOR_H_
